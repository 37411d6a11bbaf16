"""Compare many draws from one state by their tokens, on the reference and on each backend.

Tokens alone distinguish another sort from a fault if there are enough of them. The candidates are
the same in every draw. So where the reference draws a place, a backend with another sort draws one
token of the same logit, the same one each time. A backend that keeps another number of tokens soon
draws a second one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.correct import judge_run, result_of
from sampler_parity.harness.checks.stages.own_random import (
    ImpossibleToken,
    draws_own,
    shares_in,
    shares_of,
)
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.checks.stages.ties import SORTS
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import DrawnTokens
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.sanitize import limits
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler


class DrawsCase(StagesCase):
    """Many tokens drawn from one state."""

    check: ClassVar[str] = "draws"
    chosen_by = ("draws",)
    requests = ("draws",)

    draws: int = Field(ge=1, le=limits.DRAWS_OF_CASE)
    """how many tokens to draw from one state"""

    @model_validator(mode="after")
    def _has_no_prompt(self) -> "DrawsCase":
        if self.prompt:
            raise ValueError("prompt: not allowed with draws")
        return self

    @property
    def n_draws(self) -> int:
        return self.draws


Tokens = NDArray[np.int32]

# Samplers that treat equal logits alike, whichever of them are left. Others look at ids, or have a
# rule of their own for equal ones: greedy, and a temperature of 0.
_BY_VALUE = {*SORTS, "temp", "top_n_sigma", "dist"}
# Draws of a place drawn before, among tokens that equal another. A backend that keeps one more or
# one fewer of equal ones then passes at most once in 5e7 (nine for eight).
ENOUGH = 50
ALPHA = 1e-9  # of a right backend with its own random numbers, to be accused in a case
LARGEST = 2**28  # bytes of stages that draws may be repeated with


def reference_draws(prepared: Prepared) -> Tokens:
    """Return the token of each draw, -1 for none: int32[draws]. May raise UndefinedInputError."""
    want = np.empty(prepared.case.n_draws, np.int32)
    for i, cand in enumerate(_draws(prepared)):
        want[i] = -1 if cand.token is None else cand.token
    return want


def _draws(prepared: Prepared) -> Iterator[Candidates]:
    chain, row = prepared.build(), prepared.rows[0]
    for _ in range(prepared.case.n_draws):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        yield cand


def compare_draws(
    prepared: Prepared, want: Tokens, drawn: DrawnTokens, backend: Backend
) -> BackendResult:
    """Compare the draws of a backend with `want`. Raises BackendFailure."""
    got = drawn.tokens
    differs = np.flatnonzero(want != got)
    if len(differs) == 0:
        return BackendResult(verdict="identical", ns=drawn.ns)
    if draws_own(backend, prepared.case.samplers):
        result = _by_distribution(prepared, drawn)
        if result.verdict == "identical" or not (fairly() and _may_keep_others(prepared, backend)):
            return result
        return _fairly(prepared, backend, drawn, own=True)
    if fairly():
        return _fairly(prepared, backend, drawn)
    at = int(differs[0])
    result = BackendResult(
        verdict="diverged",
        ns=drawn.ns,
        step=at,
        stage=prepared.case.samplers[-1],
        stage_index=len(prepared.chain) - 1,
        what="token",
        values={"got": int(got[at]), "expected": int(want[at]), "differing": len(differs)},
    )
    sort = sort_of_equal_ones(prepared)
    repeated = None if sort is None else _drawn_again(prepared, sort, want, got)
    if sort is None or repeated is None:
        return result
    if repeated < ENOUGH:
        few = f"equal ones in another order by {len(want):,} draws: too few to be sure"
        return result.model_copy(update={"detail": few})
    update = {"verdict": "tied", "stage": prepared.case.samplers[sort], "stage_index": sort}
    return result.model_copy(update=update)


def _by_distribution(prepared: Prepared, drawn: DrawnTokens) -> BackendResult:
    """Require that draws with other random numbers have the distribution of the chain, by the test
    of Kolmogorov and Smirnov, and that each token is possible."""
    result = BackendResult(
        verdict="diverged",
        ns=drawn.ns,
        stage=prepared.case.samplers[-1],
        stage_index=len(prepared.chain) - 1,
        what="token",
    )
    try:
        spread = [*shares_of(prepared.build(), prepared.rows[0], drawn.tokens.tolist())]
    except ImpossibleToken as impossible:
        return result.model_copy(
            update={"step": impossible.draw, "detail": str(impossible), "values": {}}
        )
    if detail := _other_distribution(spread):
        return result.model_copy(update={"detail": detail})
    return BackendResult(verdict="identical", ns=drawn.ns)


def _may_keep_others(prepared: Prepared, backend: Backend) -> bool:
    """Return whether a right sampler may keep other tokens, by a rounding or another order of equal
    ones, and the backend shows the stages that decide it."""
    shows = "no_stages" not in backend.hello().capabilities
    return shows and not SORTS.isdisjoint(prepared.case.samplers)


def _other_distribution(spread: Sequence[float]) -> str:
    """Return why shares are not uniform on 0..1, or ""."""
    chance = float(scipy.stats.kstest(spread, "uniform").pvalue)
    text = f"{len(spread):,} draws have another distribution: by chance {chance:.0e}"
    return text if chance < ALPHA else ""


def _fairly(
    prepared: Prepared, backend: Backend, drawn: DrawnTokens, own: bool = False
) -> BackendResult:
    """Repeat the draws as steps, which show their stages, and judge these by the specification.
    own: with random numbers of its own they draw other tokens, by the probabilities they show."""
    n, tokens = prepared.case.n_draws, drawn.tokens.copy()  # the next request overwrites them
    # 12 bytes a candidate: id, logit and p
    room = LARGEST // (12 * prepared.case.logits.n * max(1, len(prepared.chain)))
    steps = [p.Step(row=0, accept=None)] * min(n, max(room, 1))
    ran = client.run(backend, prepared.setting, prepared.rows, steps)
    differing = np.flatnonzero(np.array(ran.tokens) != tokens[: len(steps)])
    if len(differing) and not own:
        at = int(differing[0])
        values = {"got": int(tokens[at]), "expected": ran.tokens[at]}
        return BackendResult(
            verdict="diverged", ns=drawn.ns, step=at, stage="draws", what="token", values=values,
            detail="its steps draw another token"
        )  # fmt: skip
    arithmetic = backend.hello().arithmetic
    judged = judge_run(replace(prepared, steps=steps), ran, len(steps), arithmetic, own_random=own)
    result = result_of(judged, drawn.ns)
    if own and judged.wrong is None:
        last = len(prepared.chain) - 1  # behind it may be the chain as one object
        spread = [*shares_in(stages[last] for stages in ran.stages)]
        if detail := _other_distribution(spread):
            where = {"stage": prepared.case.samplers[-1], "stage_index": last, "what": "token"}
            return result.model_copy(update={"verdict": "diverged", "detail": detail, **where})
    if len(steps) < n and judged.wrong is None:
        return result.model_copy(update={"detail": f"{len(steps):,} of {n:,} draws were judged"})
    return result


def sort_of_equal_ones(prepared: Prepared[Any]) -> int | None:
    """Return the first stage that sorts, if all stages from there treat equal logits alike."""
    samplers = prepared.build().samplers
    first = next((i for i, sampler in enumerate(samplers) if sampler.name in SORTS), None)
    return first if first is not None and all(map(_by_value, samplers[first:])) else None


def _by_value(sampler: Sampler) -> bool:
    return sampler.name in _BY_VALUE and getattr(sampler, "temp", 1) > 0


def _drawn_again(prepared: Prepared, sort: int, want: Tokens, got: Tokens) -> int | None:
    """Count the draws, among tokens that equal another, of a place that was drawn before. Returns
    None if a token does not equal the wanted one, or differs from the one drawn there before."""
    logits = _logits_before(prepared, sort)
    if min(want.min(), got.min()) < 0 or not (logits[want] == logits[got]).all():
        return None
    shows = np.isin(logits[want], logits[want[want != got]])  # all that equal one that differs
    tokens: dict[tuple[bool, int], int] = {}
    for cand, expected, token, judged in zip(_draws(prepared), want, got, shows, strict=True):
        position = cand.sorted, int(expected)  # xtc sorts only if it acts
        if judged and tokens.setdefault(position, int(token)) != token:
            return None
    if len({(is_sorted, token) for (is_sorted, _), token in tokens.items()}) < len(tokens):
        return None
    return int(shows.sum()) - len(tokens)


def _logits_before(prepared: Prepared, stage: int) -> NDArray[np.float32]:
    """Return the logits before a stage: float32[n], NaN for tokens that were removed."""
    cand = Candidates.from_logits(prepared.rows[0])
    for sampler in prepared.build().samplers[:stage]:
        sampler.apply(cand)
    logits = np.full(prepared.case.logits.n, np.nan, np.float32)
    logits[cand.ids] = cand.logits
    return logits
