"""The command `predict`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli import complete
from sampler_parity.harness.cli.saying import beside, give_data, lines_to, say
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.foreign import limits

if TYPE_CHECKING:
    from sampler_parity.harness.parity.predict import Prediction
    from sampler_parity.harness.suite.case import Case

_SHOWN = 3  # cases, from which on a table is shown in place of each


def predict_command(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="CASE...", help="ids, patterns, or suites", autocompletion=complete.suites
        ),
    ],
    platform: Annotated[
        list[str] | None, typer.Option(help="by default all of docs/platforms.md")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=limits.WHOLE, help="shifts the random suites")
    ] = 0,
    json: Annotated[
        Path | None, typer.Option(help="write the answers to this file; -: print them alone")
    ] = None,
) -> None:
    """Say whether a case repeats on other platforms, from the reference alone: nothing runs there.

    Examples:
      sampler-parity predict top_p/crossing-token-is-kept --platform macos-arm64
      sampler-parity predict 'typical_p/*' --platform wasm --platform linux-arm64-gcc
      sampler-parity predict parity/mirostat

    Exit status: 0 every token repeats, or where none is drawn every bit; 1 not; 2 bad input.
    """
    from dataclasses import asdict
    from json import dumps

    from sampler_parity.harness.parity.predict import predict
    from sampler_parity.reference import ChainError
    from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, platform_of

    try:
        asked = [platform_of(name).name for name in platform or PLATFORMS if name != DEFAULT]
    except ChainError as error:
        raise InputError("--platform", str(error)) from None
    cases = _cases(names, seed)
    answers = [answer for case in cases for answer in predict(case, asked)]
    if json is not None:
        give_data(json, dumps([asdict(answer) for answer in answers], indent=2))
    with lines_to(beside(json, False)):
        for line in _each(answers) if len(cases) <= _SHOWN else _table(answers):
            say(line)
    if not all(answer.repeats for answer in answers):
        raise typer.Exit(1)


def _cases(names: Sequence[str], seed: int) -> "list[Case]":
    """Those that can be predicted. Raises InputError where none can."""
    from sampler_parity.harness.parity.predict import PREDICTED
    from sampler_parity.harness.run.plan import Asked, plan_of
    from sampler_parity.harness.suite.shipped import shipped, suites_of_cases

    known = {name for suite in shipped() for name in (suite, suite.partition("/")[0])}
    suites = [name for name in names if name in known or Path(name).exists()]
    only = [name for name in names if name not in suites]
    whole = plan_of(Asked(suites, ["reference"], "quick", seed=seed)).cases if suites else []
    if only:
        of_cases = suites_of_cases(only) or ["parity"]
        whole += plan_of(Asked(of_cases, ["reference"], "quick", only=tuple(only), seed=seed)).cases
    cases = {case.id: case for _, case in whole if case.kind in PREDICTED}
    if not cases:
        problem = "nothing that can be predicted: only stages and draws on given logits are"
        raise InputError(" ".join(names), problem, "`sampler-parity list cases` has the ids")
    return list(cases.values())


def _each(answers: "Sequence[Prediction]") -> Iterator[str]:
    for answer in answers:
        yield f"{answer.case}  {answer.platform}: {_said(answer)}"
        if first := answer.first:
            by = ", ".join(first.operations) or "several operations together"
            place = f"step {first.step}, stage {first.stage} ({first.sampler})"
            yield f"  first at {place}: {first.what}"
            yield f"    here {first.here}, there {first.there}"
            yield f"    {first.sampler}: {by}"
        for what in answer.unknown:
            yield f"  not known: {what}"


def _said(answer: "Prediction") -> str:
    known = ", as far as is known" if answer.unknown else ""
    if answer.bits:
        return f"repeats to the bit{known}"
    if answer.tokens is None:
        what = "bits" if answer.order else "order" if answer.survivors else "survivors"
        return f"other {what}, and no token is drawn"
    return f"same tokens, other bits{known}" if answer.tokens else "other tokens"


def _table(answers: "Sequence[Prediction]") -> Iterator[str]:
    """Of each platform and sampler, how many cases repeat; and which operations part the rest."""
    for platform in dict.fromkeys(answer.platform for answer in answers):
        there = [answer for answer in answers if answer.platform == platform]
        yield f"{platform}: of {len(there)} cases as here"
        for label, sampler in [("all", None), *((s, s) for s in _parting(there))]:
            some = [a for a in there if sampler is None or sampler in a.samplers]
            yield f"  {label:<14} {', '.join(_counted(some))}"
        by = Counter(
            f"{a.first.sampler}: {' + '.join(a.first.operations) or 'several together'}"
            for a in there
            if a.first
        )
        for operation, n in by.most_common():
            yield f"    {n} by {operation}"
        for what in dict.fromkeys(what for a in there for what in a.unknown):
            yield f"    not known: {what}"


def _counted(answers: "Sequence[Prediction]") -> Iterator[str]:
    """How many repeat, of those that have such a thing: not every case draws tokens."""
    for fact in _FACTS:
        repeats = [value for a in answers if (value := getattr(a, fact)) is not None]
        yield f"{sum(repeats)}/{len(repeats)} {fact}"


_FACTS = ("bits", "order", "survivors", "tokens")


def _parting(answers: "Sequence[Prediction]") -> list[str]:
    """The samplers that part cases."""
    return sorted({answer.first.sampler for answer in answers if answer.first})
