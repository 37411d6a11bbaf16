"""Judge a backend by the samplers of its own release of llama.cpp, and find the changes that
matter.

The reference has the behaviour of every release (reference/releases.py). If it is identical to a
build with the old behaviour of the build's release, some of these changes may not matter in a case.
They are removed one by one while the reference gives the same result. The changes that are left
explain the case. The build runs once: the identical reference replaces it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.draws import Tokens, reference_draws
from sampler_parity.harness.checks.stages.block import Relation
from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, reference_trace
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError, chronology
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.releases import CHANGES, Change, between, changes_of, samplers_of


def check_relation(
    prepared: Prepared, trace: Trace, relation: Relation, backend: Backend, result: BackendResult
) -> BackendResult:
    """Run the related case on the same backend and compare its last stage with the reference's. The
    backend was identical to the reference, so the reference's trace stands for both runs."""
    related, permutation = _related_case(prepared, relation)
    ran = client.run(
        backend,
        related.setting,
        related.rows,
        related.steps[: len(trace)],
        instances=related.instances,
        detail=related.case.detail,
    )
    same = []
    for want_stages, stages in zip(trace, ran.stages, strict=True):
        got = stages[min(len(stages), len(related.chain)) - 1] if related.chain else None
        same.append(_related(relation, want_stages[-1], got, permutation))
    if _holds(relation, same):
        return result
    step = 0 if relation.kind == "differs_from" else same.index(False)
    detail = f"relation {relation.kind} does not hold"
    return result.model_copy(
        update={"verdict": "diverged", "stage": "relation", "step": step, "detail": detail}
    )


def holds_on_reference(prepared: Prepared, trace: Trace, relation: Relation) -> bool:
    """Return whether the relation holds on the reference; with an old release's behaviour it may
    not."""
    related, permutation = _related_case(prepared, relation)
    related_trace, _ = reference_trace(related)
    pairs = zip(trace, related_trace, strict=False)
    last = [(want[-1], got[-1] if related.chain else None) for want, got in pairs]
    same = [_related(relation, want, got, permutation) for want, got in last]
    return _holds(relation, same)


def _related_case(prepared: Prepared, relation: Relation) -> tuple[Prepared, Any]:
    """Return the other case and, if its ids are permuted, the permutation."""
    case = prepared.case
    if relation.kind == "permuted":
        permutation = np.random.default_rng(relation.seed).permutation(case.logits.n)
        return replace(prepared, rows=[row[permutation] for row in prepared.rows]), permutation
    chain = complete(relation.chain, case.logits.n)
    changed = case.model_copy(update={"chain": relation.chain})
    return replace(prepared, chain=chain, case=changed), None


def _holds(relation: Relation, same: list[bool]) -> bool:
    return not all(same) if relation.kind == "differs_from" else all(same)


def _related(
    relation: Relation, want: Candidates, got: Got | Candidates | None, permutation: Any
) -> bool:
    if got is None:
        return want.selected == -1
    if relation.kind == "sums_to_one":
        return sums_to_one(got.p)
    if permutation is None:
        return (
            np.array_equal(want.ids, got.ids)
            and want.token == got.token
            and bool(((want.logits == got.logits) | np.isnan(want.logits)).all())
        )
    return set(want.ids.tolist()) == set(permutation[got.ids].tolist())


def sums_to_one(p: NDArray[np.float32]) -> bool:
    """Return whether p adds up to 1 within rounding.

    Each p is rounded to float32, 2^-24 of it. So was the sum that divided it: up to b4753 it had n
    terms in float32, so n - 1 such roundings; today's is in double.
    """
    return abs(math.fsum(p) - 1) <= len(p) * 2.0**-24


# Measured to differ between releases (docs/findings.md), without the reference having the old ones.
_NOT_MODELLED = frozenset({"grammar", "grammar_lazy_patterns"})


@dataclass(frozen=True)
class ReferenceResult:
    """The reference's result of a case: a trace, or the tokens of draws; why it stopped early."""

    trace: Trace
    draws: Tokens | None
    refusal: str

    @property
    def steps(self) -> int:
        return len(self.trace) if self.draws is None else len(self.draws)


def reference_result(prepared: Prepared) -> ReferenceResult:
    if prepared.case.n_draws:
        try:
            return ReferenceResult([], reference_draws(prepared), "")
        except UndefinedInputError as error:
            return ReferenceResult([], None, str(error))
    trace, refusal = reference_trace(prepared)
    return ReferenceResult(trace, None, refusal)


Run = Callable[[Prepared, ReferenceResult], BackendResult]


@dataclass
class Targets:
    """A case with the old behaviour of some changes and the reference's result of it, once each.

    A relation that the reference does not meet with an old behaviour is not checked on a build.
    """

    prepared: Prepared
    _results: dict[frozenset[str], tuple[Prepared, ReferenceResult]] = field(default_factory=dict)
    _needed: dict[frozenset[str], list[str]] = field(default_factory=dict)

    def judge(
        self, backend: Backend, release: str, run: Run
    ) -> tuple[BackendResult, list[Verdict]]:
        """Return the result and the verdicts that pass.

        run: the case on the backend. A build is not asked for a case that is undefined in its
        release. A release between two that were measured, with a change between them, is judged by
        both. A case is not met if nobody knows how a sampler is called. An identical result names
        the old behaviours that the case needs: changes.
        """
        case = self.prepared.case
        required = case.required(backend.name)
        unknown = sorted(_NOT_MODELLED & set(case.samplers)) if release != NEWEST else []
        if unknown:
            detail = f"not asked: {unknown[0]} of {release} is not modelled"
            return BackendResult(verdict="unsupported", detail=detail), ["unsupported"]
        lacks = not all(has(sampler, release) for sampler in case.samplers)
        try:
            chronology.check_known(release)
            nobody_saw = () if lacks else between(release, case.samplers)
            if nobody_saw:
                return self._by_neighbours(release, nobody_saw, required, run)
            changes = changes_of(release, () if lacks else case.samplers)
        except ChainError as error:
            return BackendResult(verdict="unsupported", detail=f"not asked: {error}"), required
        if lacks:
            # asked anyway: a build must refuse a sampler that its release lacks
            result = run(*self._of([]))
            unsure = result.verdict == "unsupported" and _has_uncallable(backend, case)
            return result, required if unsure else ["unsupported"]
        prepared, expected = self._of(changes)
        if expected.refusal:
            detail = f"not asked, undefined in {release}: {expected.refusal}"
            return BackendResult(verdict="rejected", detail=detail), ["rejected"]
        result = run(prepared, expected)
        if result.verdict == "identical":
            result = result.model_copy(update={"changes": self._why(changes)})
        return result, required

    def _by_neighbours(
        self, release: str, unsure: Sequence[Change], required: list[Verdict], run: Run
    ) -> tuple[BackendResult, list[Verdict]]:
        """Judge as the oldest measured release with the new behaviours, or the newest with the old
        ones. The detail names the release."""
        newer = max((change.first_new for change in unsure), key=chronology.order)
        older = min((change.last_old for change in unsure), key=chronology.order)
        by = f"judged by its neighbours {older} and {newer}"
        samplers = set(self.prepared.case.samplers)
        about = [change for change in CHANGES if not samplers.isdisjoint(change.samplers)]
        # the newer side first: it needs fewer old behaviours
        sides = {
            newer: [change for change in about if change.in_force(release)],
            older: [change for change in about if change.in_force(release) is not False],
        }
        defined = {
            side: of_side for side, of_side in sides.items() if not self._of(of_side)[1].refusal
        }
        if not defined:
            detail = f"{by}: not asked, undefined in both"
            return BackendResult(verdict="rejected", detail=detail), ["rejected"]
        for side, changes in defined.items():
            result = run(*self._of(changes))
            if result.verdict == "identical":
                both = len(defined) == 2 and same(
                    *(self._of(of_side)[1] for of_side in defined.values())
                )
                detail = f"{by}: as {'both' if both else side}"
                more = {"changes": self._why(changes), "detail": detail}
                return result.model_copy(update=more), required
        return result.model_copy(update={"detail": f"{by}: as neither. {result.detail}"}), required

    def _why(self, changes: Sequence[Change]) -> list[str]:
        key = _names(changes)
        if key not in self._needed:
            _, expected = self._of(changes)
            why = needed(changes, lambda fewer: same(expected, self._of(fewer)[1]))
            self._needed[key] = [change.name for change in why]
        return self._needed[key]

    def _of(self, changes: Sequence[Change]) -> tuple[Prepared, ReferenceResult]:
        key = _names(changes)
        if key not in self._results:
            prepared = replace(self.prepared, samplers=samplers_of(changes, ALL_SAMPLERS))
            expected = reference_result(prepared)
            relation = prepared.case.relation
            if relation and not holds_on_reference(prepared, expected.trace, relation):
                prepared = replace(
                    prepared, case=prepared.case.model_copy(update={"relation": None})
                )
            self._results[key] = prepared, expected
        return self._results[key]


def needed(changes: Sequence[Change], enough: Callable[[Sequence[Change]], bool]) -> list[Change]:
    """Return a set of changes that is enough, and of which none can be left out."""
    if not changes or enough([]):
        return []
    remaining = list(changes)
    for change in changes:
        fewer = [candidate for candidate in remaining if candidate is not change]
        if enough(fewer):
            remaining = fewer
    return remaining


def _has_uncallable(backend: Backend, case: Case) -> bool:
    """Return whether the backend has all samplers of a case, and one of them cannot be called."""
    hello, required = backend.hello(), set(case.samplers)
    return required <= {*hello.samplers, *hello.uncallable} and bool(
        required & set(hello.uncallable)
    )


def _names(changes: Sequence[Change]) -> frozenset[str]:
    return frozenset(change.name for change in changes)


def same(a: ReferenceResult, b: ReferenceResult) -> bool:
    """Return whether a backend that is identical to one is identical to the other."""
    if b.refusal or a.steps != b.steps:
        return False
    if a.draws is not None and b.draws is not None:
        return np.array_equal(a.draws, b.draws)
    return all(
        len(want) == len(got) and all(map(identical, want, got))
        for want, got in zip(a.trace, b.trace, strict=True)
    )
