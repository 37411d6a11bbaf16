"""Predict whether a case repeats on another platform: the reference's results on both.

Only the reference runs. At the first difference, each part of the platform's row is put into the
default row alone: the parts that cause a difference at the same place are the operations that
decide. Platforms with the same values in all parts that a case uses are computed once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.classify import identical, same_bits
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, prepare
from sampler_parity.harness.checks.stages.targets import ReferenceResult, reference_result
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.platforms import DEFAULT, PARTS, PLATFORMS, Observed, Platform, on

PREDICTED = ("stages", "draws")
_OPERATIONS = {
    "contraction": "a * b + c rounded once, by {}",
    "conversion": "float to int that {}",
    "sorting": "the order that {} leaves of equals",
    "random": "the draws of {}",
    "libm": "expf of {}",
}
# Samplers without expf, logf, log2f or powf: an unknown libm does not change them.
_EXACT = frozenset({"greedy", "top_k", "temp", "penalties", "logit_bias", "top_n_sigma", "grammar"})


@dataclass(frozen=True)
class First:
    """The first difference of two platforms. what: survivors, order, logits, p or token; here,
    compared: the values. operations: those that each cause it alone; none: only together."""

    step: int
    stage: int
    sampler: str
    what: str
    baseline: str
    compared: str
    operations: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[int, int]:
        return self.step, self.stage


@dataclass(frozen=True)
class Prediction:
    """The prediction of a case on a platform, compared with the default: whether all stages of all
    steps have the same bits, the same order, the same survivors, and whether the tokens are the
    same. tokens: None if none is drawn. token: the first that differs. unknown: operations that the
    case depends on and the reference lacks.
    """

    case: str
    samplers: tuple[str, ...]
    platform: str
    bits: bool
    order: bool
    survivors: bool
    tokens: bool | None
    token: int | None
    first: First | None
    unknown: tuple[str, ...]

    @property
    def repeats(self) -> bool:
        return self.bits if self.tokens is None else self.tokens


def predict(case: StagesCase, platforms: Sequence[str]) -> Iterator[Prediction]:
    """Yield a prediction for each platform. The case is of a kind in PREDICTED; each of its stages
    is compared, even if backends return only its tokens."""
    answers = _Answers(prepare(case.model_copy(update={"detail": "stages"})))
    for name in platforms:
        yield _prediction(answers, PLATFORMS[name])


@dataclass
class _Answers:
    """The reference's results of a case. _cached: the number of steps, the parts of the platform's
    row that they used, and the result."""

    prepared: Prepared
    _cached: list[tuple[int, dict[str, str], ReferenceResult]] = field(default_factory=list)

    def on(self, platform: Platform, steps: int | None = None) -> ReferenceResult:
        """Return the result on a platform. steps: at least so many are computed."""
        prepared = self.prepared
        if steps is not None and not prepared.case.n_draws:
            prepared = replace(prepared, steps=prepared.steps[:steps])
        row = _row(platform)
        for n, parts, result in self._cached:
            # the same in every part that the reference used: the same result
            if n >= len(prepared.steps) and parts.items() <= row.items():
                return result
        observed = Observed(platform)
        with on(observed):
            result = reference_result(prepared)
        parts = {part: row[part] for part in observed.asked & row.keys()}
        self._cached.append((len(prepared.steps), parts, result))
        return result


def _row(platform: Platform) -> dict[str, Any]:
    """Return the row as the reference computes it: it has only glibc's and musl's expf."""
    row = {part: getattr(platform, part) for part in PARTS}
    return row | {"libm": "musl" if platform.libm == "musl" else "glibc"}


def _prediction(answers: _Answers, platform: Platform) -> Prediction:
    baseline, compared = answers.on(PLATFORMS[DEFAULT]), answers.on(platform)
    first = _first(answers.prepared, baseline, compared)
    if first is not None:
        first = replace(first, operations=_operations(answers, platform, first))
    samplers = tuple(name for stage in answers.prepared.chain for name in stage)
    tokens, token = _same_tokens(baseline, compared)
    return Prediction(
        case=answers.prepared.case.id,
        samplers=samplers,
        platform=platform.name,
        bits=first is None,
        order=first is None or _same_in_all(baseline, compared, _same_order),
        survivors=first is None or _same_in_all(baseline, compared, _same_survivors),
        tokens=tokens,
        token=token,
        first=first,
        unknown=_unknown(answers, platform, samplers),
    )


def _same_in_all(
    baseline: ReferenceResult,
    compared: ReferenceResult,
    same: Callable[[Candidates, Candidates], bool],
) -> bool:
    """Return whether `same` holds after each stage of each step."""
    steps = zip(baseline.trace, compared.trace, strict=False)
    stages = (pair for mine, its in steps for pair in zip(mine, its, strict=True))
    return baseline.steps == compared.steps and all(same(a, b) for a, b in stages)


def _same_order(a: Candidates, b: Candidates) -> bool:
    return np.array_equal(a.ids, b.ids)


def _same_survivors(a: Candidates, b: Candidates) -> bool:
    return _same_order(a, b) or np.array_equal(np.sort(a.ids), np.sort(b.ids))


def _same_tokens(
    baseline: ReferenceResult, compared: ReferenceResult
) -> tuple[bool | None, int | None]:
    """Return whether the tokens are the same, and the first that differs."""
    mine, its = (_tokens(result) for result in (baseline, compared))
    if {*mine, *its} <= {None}:
        return None, None
    differing = (i for i, (a, b) in enumerate(zip_longest(mine, its)) if a != b)
    token = next(differing, None)
    return token is None, token


def _tokens(result: ReferenceResult) -> list[int | None]:
    if result.draws is not None:
        return [int(token) for token in result.draws]
    return [stages[-1].token for stages in result.trace]


def _unknown(answers: _Answers, platform: Platform, samplers: Sequence[str]) -> tuple[str, ...]:
    """Return the unknown operations that the case depends on. Both possible sorts are tried."""
    depends = {"libm": not _EXACT.issuperset(samplers), "sorting": False}
    if platform.perhaps is not None:
        alternative = answers.on(replace(platform, sorting=platform.perhaps))
        depends["sorting"] = _first(answers.prepared, answers.on(platform), alternative) is not None
    return tuple(what for part, what in platform.unknown if depends[part])


def _operations(answers: _Answers, platform: Platform, first: First) -> tuple[str, ...]:
    """Return the parts of the row that alone cause a difference at the same place."""
    default = PLATFORMS[DEFAULT]
    baseline = answers.on(default)
    deciding = []
    for part, words in _OPERATIONS.items():
        value = getattr(platform, part)
        if value == getattr(default, part):
            continue
        # later steps cannot change the first difference
        alone = answers.on(replace(default, **{part: value}), first.step + 1)
        difference = _first(answers.prepared, baseline, alone)
        if difference is not None and difference.place == first.place:
            deciding.append(words.format(value))
    return tuple(deciding)


def _first(
    prepared: Prepared, baseline: ReferenceResult, compared: ReferenceResult
) -> First | None:
    if baseline is compared:
        return None
    if baseline.draws is not None and compared.draws is not None:
        return _first_draw(prepared, baseline, compared)
    if position := _first_place(baseline.trace, compared.trace):
        step, stage = position
        what, mine, its = difference_of(baseline.trace[step][stage], compared.trace[step][stage])
        return First(step, stage, _name(prepared, stage), what, mine, its)
    if baseline.steps != compared.steps:
        step = min(baseline.steps, compared.steps)
        mine, its = (result.refusal or "goes on" for result in (baseline, compared))
        return First(step, 0, _name(prepared, 0), "refusal", mine, its)
    return None


def _first_draw(
    prepared: Prepared, baseline: ReferenceResult, compared: ReferenceResult
) -> First | None:
    assert baseline.draws is not None
    assert compared.draws is not None
    differing = np.flatnonzero(baseline.draws != compared.draws)
    if not len(differing):
        return None
    draw, stage = int(differing[0]), len(prepared.chain) - 1
    mine, its = str(baseline.draws[draw]), str(compared.draws[draw])
    return First(draw, stage, _name(prepared, stage), "token", mine, its)


def _name(prepared: Prepared, stage: int) -> str:
    (name,) = prepared.chain[stage]
    return name


def _first_place(baseline: Trace, compared: Trace) -> tuple[int, int] | None:
    for step, (mine, its) in enumerate(zip(baseline, compared, strict=False)):
        for stage, (a, b) in enumerate(zip(mine, its, strict=True)):
            if not identical(a, b):
                return step, stage
    return None


def difference_of(a: Got | Candidates, b: Got | Candidates) -> tuple[str, str, str]:
    """Return the name of the difference, and its first value in each."""
    if {*a.ids.tolist()} != {*b.ids.tolist()}:
        return "survivors", _survivors(a, b), _survivors(b, a)
    if not np.array_equal(a.ids, b.ids):
        at = int((a.ids != b.ids).argmax())
        return "order", f"token {a.ids[at]} at rank {at}", f"token {b.ids[at]} at rank {at}"
    for name, x, y in (("logits", a.logits, b.logits), ("p", a.p, b.p)):
        if not same_bits(x, y):
            at = int((x.view(np.uint32) != y.view(np.uint32)).argmax())
            return name, f"{x[at]:.9g} of token {a.ids[at]}", f"{y[at]:.9g} of token {b.ids[at]}"
    if a.token != b.token:
        return "token", str(a.token), str(b.token)
    return "sorted", str(a.sorted), str(b.sorted)


def _survivors(these: Got | Candidates, those: Got | Candidates) -> str:
    """Return how many there are, and the ones that the others lack."""
    alone = sorted({*these.ids.tolist()} - {*those.ids.tolist()})
    if not alone:
        return str(len(these.ids))
    more = ", ..." if len(alone) > 3 else ""
    noun = "token" if len(alone) == 1 else "tokens"
    return f"{len(these.ids)} with {noun} {', '.join(map(str, alone[:3]))}{more}"
