"""Many draws from one state: the same token every time, on the reference and on each backend."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.parity.ask import put_rows
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendFailure, BackendProcess
from sampler_parity.harness.suite.prepared import Prepared
from sampler_parity.reference import Candidates

Tokens = NDArray[np.int32]


def reference_draws(ready: Prepared) -> Tokens:
    """The token of each draw, -1 for none: int32[draws]. May raise UndefinedInputError."""
    chain, row, n = ready.build(), ready.rows[0], ready.case.draws
    want = np.empty(n, np.int32)
    for i in range(n):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        want[i] = -1 if cand.token is None else cand.token
    return want


def draws_on(ready: Prepared, want: Tokens, backend: BackendProcess) -> BackendResult:
    """Raises BackendFailure."""
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
