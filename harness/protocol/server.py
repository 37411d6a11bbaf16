"""Answer the requests of the protocol with a worker in Python: instances, scratch file, clock.

`InPlace` runs a worker in this process, through the same requests as any backend.
"""

import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import DTYPES
from sampler_parity.harness.protocol.interface import (
    BackendFailure,
    Capturer,
    Decoder,
    DeviceProbe,
    Drawer,
    Generator,
    GraphGenerator,
    Instance,
    R,
    Result,
    Rounds,
    Sequences,
    SkipRatios,
    Speculator,
    Throughput,
    Worker,
)
from sampler_parity.harness.protocol.sampling import (
    Sampling,
    Serving,
    accept,
    accept_past,
    rows_of,
    write,
    write_table,
)
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.reference import ChainError, UndefinedInputError


def run(worker: Worker, scratch: Scratch, request: p.RunRequest) -> p.RunReply:
    rows = rows_of(scratch, request.rows)
    instances = [
        worker.build(request.chain, request.n_vocab, request.vocab)
        for _ in range(request.instances)
    ]
    for instance in instances:
        accept_past(instance, request.history, request.n_prompt)
    tokens: list[int | None] = []
    stages: list[list[p.StageResult]] = []
    table: list[int] | None = None if request.table is None else []
    sampling = Sampling(worker, scratch, request.out, request.detail == "stages", table)
    for step in request.steps:
        for operation, index in step.before:
            if operation == "reset":
                instances[index].reset()
            else:
                instances.append(instances[index].clone())
        instance = instances[step.instance]
        row = rows[step.row]
        token, results = sampling.sample(instance, len(request.chain), row, request.whole_chain)
        tokens.append(token)
        stages.append(results)
        accept(instance, step.accept, token)
    if request.table is not None and table:
        write_table(scratch, request.table, table)
        stages = []
    return p.RunReply(tokens=tokens, stages=stages, ns=sampling.ns)


def in_version(hello: p.HelloReply, version: int) -> p.HelloReply:
    """Return a hello in a version of the protocol. A worker that runs chains also runs batches, and
    gets rows of any format as values."""
    more = ["batch"] if version > 1 and "run" in hello.capabilities else []
    update = {"protocol": version, "capabilities": [*hello.capabilities, *more]}
    return hello.model_copy(update=update | ({"dtypes": [*DTYPES]} if version > 1 else {}))


def draws(worker: Worker, scratch: Scratch, request: p.DrawsRequest) -> p.DrawsReply:
    row = rows_of(scratch, request.rows)[0]
    instance = worker.build(request.chain, request.n_vocab, request.vocab)
    for token in request.history:
        instance.accept(token)
    uniforms = None
    if request.uniforms is not None:
        uniforms = scratch.view(request.uniforms, request.n, np.float64)
    start = time.perf_counter_ns()
    if request.filters_once and isinstance(instance, Drawer):
        out = instance.draw(worker.candidates(row), request.n, uniforms)
    elif uniforms is not None:
        raise Unsupported("takes no uniforms here")
    else:
        out = np.empty(request.n, np.int32)
        for i in range(request.n):
            candidates = worker.candidates(row)
            instance.apply(None, candidates)
            ids, _, _, _, selected = worker.result(candidates)
            out[i] = ids[selected]
    ns = time.perf_counter_ns() - start
    scratch.write(request.out, out)
    return p.DrawsReply(ns=ns)


def time_chain(worker: Worker, scratch: Scratch, request: p.TimeRequest) -> p.TimeReply:
    row = rows_of(scratch, request.rows)[0]
    instance = worker.build(request.chain, request.n_vocab, request.vocab)
    for token in request.history:
        instance.accept(token)
    idle = _idle(worker, request)
    ns, setup_ns = [], []
    for _ in range(request.repetitions):
        begun = time.perf_counter_ns()
        candidates = worker.candidates(row)
        setup_ns.append(time.perf_counter_ns() - begun)
        if idle is not None:  # making candidates threw this code out of the processor's caches
            idle.apply(None, candidates)
        start = time.perf_counter_ns()
        instance.apply(None, candidates)
        ns.append(time.perf_counter_ns() - start)
    return p.TimeReply(ns=ns, setup_ns=setup_ns)


def _idle(worker: Worker, request: p.TimeRequest) -> Instance | None:
    """Return an empty chain, which runs the same code; None if the worker builds none."""
    try:
        return worker.build([], request.n_vocab, request.vocab)
    except (Unsupported, ChainError, InputError):
        return None


def decode(worker: Worker, scratch: Scratch, request: p.DecodeRequest) -> p.DecodeReply:
    if not isinstance(worker, Decoder):
        raise Unsupported("decodes no model")
    worker.decode(request, _logits(scratch, request.out, len(request.tokens), request.n_vocab))
    return p.DecodeReply()


def capture(worker: Worker, scratch: Scratch, request: p.CaptureRequest) -> p.CaptureReply:
    if not isinstance(worker, Capturer):
        raise Unsupported("captures no logits")
    worker.capture(request, _logits(scratch, request.out, len(request.positions), request.n_vocab))
    return p.CaptureReply()


def devices(worker: Worker, _scratch: Scratch, _request: p.DevicesRequest) -> p.DevicesReply:
    if not isinstance(worker, DeviceProbe):
        raise Unsupported("asks no devices")
    return worker.devices()


def generate(worker: Worker, scratch: Scratch, request: p.GenerateRequest) -> p.GenerateReply:
    if not isinstance(worker, Generator | GraphGenerator):
        raise Unsupported("decodes no model")
    rows = _logits(scratch, request.out, request.n_tokens, request.n_vocab)
    if isinstance(worker, Generator):
        return worker.generate(request, rows)
    reply, results = worker.generate_in_graph(request, rows)
    stages = _write_all(scratch, request.out + rows.nbytes, results)
    return reply.model_copy(update={"handed_back": stages})


def sequences(worker: Worker, scratch: Scratch, request: p.SequencesRequest) -> p.SequencesReply:
    if not isinstance(worker, Sequences):
        raise Unsupported("decodes no sequences")
    rows = _logits(scratch, request.out, request.n_tokens, request.n_vocab)
    reply, results = worker.sequences(request, rows)
    stages = _write_all(scratch, request.out + rows.nbytes, results)
    return reply.model_copy(update={"handed_back": stages})


def _write_all(scratch: Scratch, at: int, results: list[Result]) -> list[p.StageResult]:
    stages = []
    for result in results:
        stage, at = write(scratch, at, result)
        stages.append(stage)
    return stages


def speculative(
    worker: Worker, scratch: Scratch, request: p.SpeculativeRequest
) -> p.SpeculativeReply:
    if not isinstance(worker, Speculator):
        raise Unsupported("verifies no drafts")
    count, n_vocab, n = request.drafted, request.n_vocab, request.n
    logits = scratch.view(request.rows.at, (count + 1) * n_vocab, np.float32)
    draft_rows = scratch.view(request.draft_rows, count * n_vocab, np.float32)
    rounds = Rounds(
        logits.reshape(count + 1, n_vocab),
        draft_rows.reshape(count, n_vocab),
        scratch.view(request.drafts, n * count, np.int32).reshape(n, count),
        scratch.view(request.seeds, n, np.uint32),
    )
    start = time.perf_counter_ns()
    tokens = worker.speculate(request, rounds)
    ns = time.perf_counter_ns() - start
    scratch.write(request.out, tokens.astype(np.int32))
    return p.SpeculativeReply(ns=ns)


def _logits(scratch: Scratch, at: int, count: int, n: int) -> NDArray[np.float32]:
    """Map space for count rows of n logits."""
    scratch.ensure(at + 4 * count * n)
    return scratch.view(at, count * n, np.float32).reshape(count, n)


def batch(worker: Worker, scratch: Scratch, request: p.BatchRequest) -> p.BatchReply:
    serving = getattr(worker, "serving", Serving)
    return cast(p.BatchReply, serving(worker, scratch, request).answer())


def many(worker: Worker, scratch: Scratch, request: p.ManyRequest) -> p.ManyReply:
    replies = [answer(worker, scratch, part) for part in request.runs]
    return p.ManyReply.model_construct(replies=replies)


# Answered by the worker's method of that name: the protocol that it needs, and how it lacks that.
_BY_WORKER: dict[type[BaseModel], tuple[type, str]] = {
    p.TokenizeRequest: (Capturer, "captures no logits"),
    p.ThroughputRequest: (Throughput, "decodes no model"),
    p.SkipRatioRequest: (SkipRatios, "has no chain to put a trie into"),
}
_HANDLERS: dict[type[BaseModel], Callable[[Worker, Scratch, Any], p.Reply]] = {
    p.RunRequest: run,
    p.BatchRequest: batch,
    p.DrawsRequest: draws,
    p.TimeRequest: time_chain,
    p.DecodeRequest: decode,
    p.CaptureRequest: capture,
    p.DevicesRequest: devices,
    p.GenerateRequest: generate,
    p.SequencesRequest: sequences,
    p.SpeculativeRequest: speculative,
    p.ManyRequest: many,
}


def answer(worker: Worker, scratch: Scratch, request: p.Request) -> p.Reply | p.ErrorReply:
    try:
        if handler := _HANDLERS.get(type(request)):
            return handler(worker, scratch, request)
        if type(request) not in _BY_WORKER:
            return worker.hello()
        needed, without = _BY_WORKER[type(request)]
        if not isinstance(worker, needed):
            raise Unsupported(without)
        return cast(p.Reply, getattr(worker, request.do)(request))
    except Unsupported as error:
        return p.ErrorReply(kind="unsupported", message=str(error))
    except (ChainError, UndefinedInputError, InputError) as error:
        return p.ErrorReply(kind="rejected", message=str(error))


class InPlace:
    """A `Backend` whose worker runs in this process."""

    def __init__(self, name: str, worker: Any) -> None:
        self.name, self.worker, self.scratch = name, worker, Scratch()

    def hello(self) -> p.HelloReply:
        return in_version(self.worker.hello(), p.PROTOCOL_VERSION)

    def ask(self, request: Any, reply: type[R], timeout_s: float | None = None) -> R:
        answered = self.answer(request, timeout_s)
        if isinstance(answered, p.ErrorReply):
            raise BackendFailure(answered.kind, answered.message)
        assert isinstance(answered, reply)
        return answered

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        """Return the worker's reply. Raises BackendFailure."""
        return answer(self.worker, self.scratch, request)

    def violation(self, message: str) -> BackendFailure:
        return BackendFailure("crashed", message)

    def close(self) -> None:
        self.scratch.remove()
