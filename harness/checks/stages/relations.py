"""Relations of a case: its result compared with that of another run on the same backend."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.checks.stages.block import Relation
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, reference_trace
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.reference import Candidates


def check_relation(
    prepared: Prepared,
    trace: Trace,
    relation: Relation,
    backend: Backend,
    result: BackendResult,
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
