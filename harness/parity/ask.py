"""A case on a backend: the request, and a check that the reply fits it."""

import numpy as np

from sampler_parity.harness.parity.classify import Got
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendFailure, BackendProcess
from sampler_parity.harness.suite.prepared import Prepared


def ask_run(ready: Prepared, n_steps: int, backend: BackendProcess) -> p.RunReply:
    hello = backend.hello()
    missing = sorted(set(ready.case.samplers) - set(hello.samplers))
    if missing:
        raise BackendFailure("unsupported", f"no sampler {', '.join(missing)}")
    rows = put_rows(ready, backend)
    n, stages = ready.case.logits.n, len(ready.chain) + 1
    out = rows.at + 4 * rows.count * n
    backend.scratch.ensure(out + 12 * n * stages * max(1, n_steps))
    request = p.RunRequest(
        chain=ready.chain,
        n_vocab=n,
        vocab=ready.vocab_file,
        rows=rows,
        history=ready.case.history,
        steps=ready.steps[:n_steps],
        instances=ready.instances,
        detail=ready.case.detail,
        whole_chain="whole_chain" in hello.capabilities and ready.case.detail == "stages",
        out=out,
    )
    reply = backend.ask(request, p.RunReply)
    _check_shape(request, reply, backend)
    return reply


def put_rows(ready: Prepared, backend: BackendProcess) -> p.Rows:
    n = ready.case.logits.n
    backend.scratch.ensure(4 * n * len(ready.rows))
    at = 0
    for row in ready.rows:
        at = backend.scratch.write(at, row)
    return p.Rows(at=0, count=len(ready.rows), n=n)


def _check_shape(request: p.RunRequest, reply: p.RunReply, backend: BackendProcess) -> None:
    """A reply that does not fit its request is a violation of the protocol."""
    expected = 0
    if request.detail == "stages":
        expected = len(request.chain) + request.whole_chain
    if len(reply.tokens) != len(request.steps) or (
        expected and [len(stages) for stages in reply.stages] != [expected] * len(request.steps)
    ):
        raise backend.violation("the reply has another number of steps or stages")
    size = backend.scratch.size()
    for stages in reply.stages:
        for stage in stages:
            if stage.at < 0 or stage.n < 0 or stage.at + 12 * stage.n > size:
                raise backend.violation("the reply points outside the scratch file")


def got_of(stage: p.StageResult, backend: BackendProcess) -> Got:
    view, at, n = backend.scratch.view, stage.at, stage.n
    return Got(
        ids=view(at, n, np.int32),
        logits=view(at + 4 * n, n, np.float32),
        p=view(at + 8 * n, n, np.float32),
        sorted=stage.sorted,
        selected=stage.selected,
    )
