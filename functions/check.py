"""Check a Python function as a sampler: the cases of its suite, in this process."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sampler_parity.functions.report import Report
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.verdicts import Accept

if TYPE_CHECKING:  # the rest takes longer to import than a user waits for a name
    from sampler_parity.functions.calling import Library
    from sampler_parity.functions.subject import Subject
    from sampler_parity.harness.protocol.arithmetic import Arithmetic

ERROR = 1e-6  # probability that a right function is found to draw otherwise


def check(
    function: Callable[..., Any],
    sampler: str,
    *,
    accept: Accept = "correct",
    cases: str | Sequence[str] = "*",
    library: "Library" = None,
    batch: bool = False,
    arithmetic: "Arithmetic | Mapping[str, Any] | None" = None,
    seed: int = 0,
    own_random: bool = False,
) -> Report:
    """Check a function as one of llama.cpp's samplers, by the quick cases of `parity/SAMPLER`.

    function: takes logits, float32[n], and the sampler's parameters by their names. It returns
    logits, float[n], with -inf for each token that it removes; or bool[n] of those that stay; or
    ids with their logits; or for a sampler that selects, a token. An argument named `tokens` gets
    the tokens so far, one named `rng`, `generator` or `seed` random numbers. A function or class
    without an argument for logits makes an object from the parameters: it is called, or its
    `apply`; `accept`, `reset` and `clone` are called if it has them.
    sampler: of `SUPPORTED` in stage.py. accept: as `run --accept`. cases: patterns of ids.
    library: torch, jax.numpy, mlx.core or list: what makes the arrays that it gets; None: NumPy.
    batch: give rows, float32[3, n]. arithmetic: as in an adapter's greeting; None: float32.
    own_random: it draws with random numbers that no argument gives.
    Raises InputError for a sampler that is not supported, and a function that cannot be called.
    """
    from sampler_parity.functions.subject import cases_of

    patterns = patterns_of(cases)
    selected = cases_of(sampler, patterns)
    subject = subject_of(
        function, sampler, accept=accept, library=library, batch=batch, arithmetic=arithmetic,
        seed=seed, own_random=own_random,
    )  # fmt: skip
    skipped = {case.id: lacks for case in selected if (lacks := subject.skips(case))}
    runnable = [case for case in selected if case.id not in skipped]
    with closing(subject.backend):
        results = [subject.result(case) for case in runnable]
        failed = [result for result in results if not result.ok]
        findings = [*subject.findings(results, runnable)] if failed else []
        draws = subject.draws(ERROR) if subject.own_random and not failed else None
    right = len(runnable) - len(failed)
    headline = f"{subject.name} as {sampler}: {right:,} of {len(runnable):,} cases as required"
    lacking = ", ".join(dict.fromkeys(name for lacks in skipped.values() for name in lacks))
    notes = [f"{len(skipped):,} more are skipped: it takes no {lacking}"] if skipped else []
    if draws is not None:
        headline += f"; {draws.headline}" if draws.headline else ""
        findings, notes = [*findings, *draws.findings], [*notes, *draws.notes]
    return Report(headline, bool(runnable) and not findings, findings, notes)


def patterns_of(cases: str | Sequence[str]) -> list[str]:
    """Return patterns of ids as a list. Raises InputError for anything else."""
    patterns = [cases] if isinstance(cases, str) else cases
    if not isinstance(patterns, list | tuple) or not all(isinstance(p, str) for p in patterns):
        raise InputError(
            f"cases={cases!r}"[:100], "are no patterns of ids", "pass a text or a list"
        )
    return [*patterns]


def subject_of(
    function: Callable[..., Any],
    sampler: str,
    *,
    accept: Accept = "correct",
    library: "Library" = None,
    batch: bool = False,
    arithmetic: "Arithmetic | Mapping[str, Any] | None" = None,
    seed: int = 0,
    own_random: bool = False,
) -> "Subject":
    """Return a function with the options of `check`."""
    from types import ModuleType
    from typing import get_args

    from sampler_parity.functions.calling import Caller
    from sampler_parity.functions.subject import Subject
    from sampler_parity.harness.protocol.arithmetic import Arithmetic

    if accept not in get_args(Accept):
        raise InputError(
            f"accept={accept!r}", "no such level", f"use {', '.join(get_args(Accept))}"
        )
    if not (library is None or callable(library) or isinstance(library, ModuleType)):
        raise InputError(f"library={library!r}", "is no module", "pass torch, not its name")
    try:
        stated = Arithmetic.model_validate(arithmetic or {})
    except ValueError:
        names = ", ".join(Arithmetic.model_fields)
        raise InputError(f"arithmetic={arithmetic!r}", "is none", f"its fields: {names}") from None
    caller = Caller(library, batch)
    return Subject(function, sampler, accept, caller, stated, seed, own_random)
