"""Many draws from one state: the same token every time, on the reference and on each backend."""

import time
from typing import Any

import numpy as np

from harness import protocol as p
from harness.backend_run import put_rows
from harness.process import BackendFailure, BackendProcess
from harness.reference_run import Prepared
from harness.results import BackendResult, CaseResult
from reference import Candidates


def execute_draws(ready: Prepared, backends: list[BackendProcess]) -> CaseResult:
    """Many draws from one state: the same token every time."""
    start = time.perf_counter()
    chain, row, n = ready.build(), ready.rows[0], ready.case.draws
    want = np.empty(n, np.int32)
    for i in range(n):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        want[i] = -1 if cand.token is None else cand.token
    reference_s = time.perf_counter() - start
    results = {}
    for backend in backends:
        start = time.perf_counter()
        try:
            result = _draws_on(ready, want, backend)
        except BackendFailure as failure:
            result = BackendResult(verdict=failure.verdict, detail=str(failure))
        results[backend.name] = result.model_copy(update={"wall_s": time.perf_counter() - start})
    return CaseResult(
        id=ready.case.id,
        samplers=ready.case.samplers,
        steps=n,
        draws=n,
        reference_s=reference_s,
        backends=results,
        required={b.name: ready.case.required(b.name) for b in backends},
    )


def _draws_on(ready: Prepared, want: Any, backend: BackendProcess) -> BackendResult:
    if "draws" not in backend.hello().capabilities:
        raise BackendFailure("unsupported", "no draws")
    rows, n = put_rows(ready, backend), ready.case.draws
    out = rows.at + 4 * rows.count * rows.n
    backend.scratch.ensure(out + 4 * n)
    request = p.DrawsRequest(
        chain=ready.chain,
        n_vocab=rows.n,
        vocab=ready.vocab_file,
        rows=rows,
        history=ready.case.history,
        n=n,
        out=out,
    )
    reply = backend.ask(request, p.DrawsReply)
    if backend.scratch.size() < out + 4 * n:
        raise backend.violation("the scratch file was cut")
    got = backend.scratch.view(out, n, np.int32)
    differs = np.flatnonzero(want != got)
    if len(differs) == 0:
        return BackendResult(verdict="identical", ns=reply.ns)
    at = int(differs[0])
    return BackendResult(
        verdict="diverged",
        ns=reply.ns,
        step=at,
        stage=ready.case.samplers[-1],
        stage_index=len(ready.chain) - 1,
        what="token",
        values={"got": int(got[at]), "expected": int(want[at]), "differing": len(differs)},
    )
