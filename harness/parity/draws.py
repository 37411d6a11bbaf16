"""Many draws from one state: the same token every time, on the reference and on each backend."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol.interface import Backend
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


def draws_on(ready: Prepared, want: Tokens, backend: Backend) -> BackendResult:
    """Raises BackendFailure."""
    drawn = ask.draws(backend, ready.setting, ready.rows[0], ready.case.draws)
    got = drawn.tokens
    differs = np.flatnonzero(want != got)
    if len(differs) == 0:
        return BackendResult(verdict="identical", ns=drawn.ns)
    at = int(differs[0])
    return BackendResult(
        verdict="diverged",
        ns=drawn.ns,
        step=at,
        stage=ready.case.samplers[-1],
        stage_index=len(ready.chain) - 1,
        what="token",
        values={"got": int(got[at]), "expected": int(want[at]), "differing": len(differs)},
    )
