"""Relations: what a case says of the result beside that of another run on the same backend."""

from typing import Any

import numpy as np

from harness.backend_run import ask_run, got_of
from harness.case import Relation
from harness.chains import complete
from harness.compare import Got
from harness.process import BackendProcess
from harness.reference_run import Prepared, Trace
from harness.results import BackendResult
from reference import Candidates


def check_relation(
    ready: Prepared,
    trace: Trace,
    relation: Relation,
    backend: BackendProcess,
    result: BackendResult,
) -> BackendResult:
    """Run the related case on the same backend and compare its last stage with the reference's.

    The backend was identical to the reference, so the reference's trace stands for both runs.
    """
    case, permutation = ready.case, None
    if relation.kind == "permuted":
        permutation = np.random.default_rng(relation.seed).permutation(case.logits.n)
        rows = [row[permutation] for row in ready.rows]
        other = Prepared(**(vars(ready) | {"rows": rows}))
    else:
        chain = complete(relation.chain, case.logits.n, ready.vocab)
        changed = case.model_copy(update={"chain": relation.chain})
        other = Prepared(**(vars(ready) | {"chain": chain, "case": changed}))
    reply = ask_run(other, len(trace), backend)
    same = []
    for want_stages, stages in zip(trace, reply.stages, strict=True):
        got = got_of(stages[len(other.chain) - 1], backend) if other.chain else None
        same.append(_related(want_stages[-1], got, permutation))
    holds = any(not s for s in same) if relation.kind == "differs_from" else all(same)
    if holds:
        return result
    step = 0 if relation.kind == "differs_from" else same.index(False)
    detail = f"relation {relation.kind} does not hold"
    return result.model_copy(
        update={"verdict": "diverged", "stage": "relation", "step": step, "detail": detail}
    )


def _related(want: Candidates, got: Got | None, permutation: Any) -> bool:
    if got is None:
        return want.selected == -1
    if permutation is None:
        return (
            np.array_equal(want.ids, got.ids)
            and want.token == got.token
            and bool(((want.logits == got.logits) | np.isnan(want.logits)).all())
        )
    return set(want.ids.tolist()) == set(permutation[got.ids].tolist())
