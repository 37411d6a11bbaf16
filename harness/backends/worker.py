"""`python -m sampler_parity.harness.backends.worker NAME`: a Python backend as a process
that speaks the protocol.

The backend is a class with four methods (Backend below); everything else is here: reading requests,
the scratch file, stepping through instances. Whatever the backend or its native library prints goes
to stderr, so that it cannot be taken for a reply.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.reference import ChainError, UndefinedInputError

# Worker name -> the module that holds its class `Worker`.
WORKERS = {
    "reference": "sampler_parity.harness.backends.reference",
    "null": "sampler_parity.harness.backends.null",
    "llama.cpp": "sampler_parity.harness.backends.llama_cpp.worker",
    "llama.cpp/graph": "sampler_parity.harness.backends.llama_cpp.graph",
    "akunu/cpu": "sampler_parity.harness.backends.akunu.cpu",
    "akunu/gumbel": "sampler_parity.harness.backends.akunu.gumbel",
    "akunu/cuda": "sampler_parity.harness.backends.akunu.cuda",
    "power_law": "sampler_parity.harness.backends.power_law",
    "transformers": "sampler_parity.harness.backends.transformers",
    "token_trie": "sampler_parity.harness.backends.llama_cpp.token_trie",
    "llguidance": "sampler_parity.harness.backends.grammars.llguidance",
    "llguidance/rules": "sampler_parity.harness.backends.grammars.llguidance_rules",
    "xgrammar": "sampler_parity.harness.backends.grammars.xgrammar",
    "xgrammar/rules": "sampler_parity.harness.backends.grammars.xgrammar_rules",
    "mutant": "sampler_parity.harness.mutants.worker",
    "slow": "sampler_parity.harness.mutants.slow",
}


class Instance(Protocol):
    """One chain in one state."""

    def apply(self, stage: int | None, rows: Any) -> Any:
        """Apply one stage (None: the whole chain as one object) to candidates."""

    def accept(self, token: int) -> None: ...
    def reset(self) -> None: ...
    def clone(self) -> "Instance": ...


class Backend(Protocol):
    """A backend in Python. Candidates are whatever it likes; the worker only passes them on."""

    def hello(self) -> p.HelloReply: ...
    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance: ...
    def candidates(self, logits: NDArray[np.float32]) -> Any: ...
    def result(self, candidates: Any) -> tuple[Any, Any, Any, bool | None, int]:
        """ids, logits, p, sorted, selected of candidates."""


@runtime_checkable
class Decoder(Protocol):
    """A backend that computes a model's logits."""

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        """rows: [len(tokens), n_vocab], to be filled. Raises InputError for a bad model."""


@runtime_checkable
class Drawer(Protocol):
    """An instance that draws many times from candidates without leaving its own code."""

    def draw(
        self, candidates: Any, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Apply all stages but the last once, the last n times; uniforms: to draw with, or None.

        Raises Unsupported where it cannot take uniforms.
        """


@runtime_checkable
class Generator(Protocol):
    """A backend that decodes a model, too."""

    def generate(self, request: p.GenerateRequest, rows: NDArray[np.float32]) -> p.GenerateReply:
        """rows: [n_tokens, n_vocab], to be filled. Raises InputError for a bad model."""


@runtime_checkable
class Throughput(Protocol):
    """A backend that decodes many sequences at once and times it."""

    def throughput(self, request: p.ThroughputRequest) -> p.ThroughputReply:
        """Raises InputError for a bad model."""


Result = tuple[Any, Any, Any, bool | None, int]


@runtime_checkable
class GraphGenerator(Protocol):
    """A backend that samples in the graph of the model that it decodes."""

    def generate_in_graph(
        self, request: p.GenerateRequest, rows: NDArray[np.float32]
    ) -> tuple[p.GenerateReply, list[Result]]:
        """As Generator; and of each step, what the stages in the graph left."""


def run(backend: Backend, scratch: Scratch, request: p.RunRequest) -> p.RunReply:
    rows = scratch.view(request.rows.at, request.rows.count * request.rows.n, np.float32)
    rows = rows.reshape(request.rows.count, request.rows.n)
    instances = [
        backend.build(request.chain, request.n_vocab, request.vocab)
        for _ in range(request.instances)
    ]
    for instance in instances:
        for past in request.history:
            instance.accept(past)
    tokens: list[int | None] = []
    stages: list[list[p.StageResult]] = []
    at, ns = request.out, 0
    all_stages: list[int | None] = (
        [None] if request.detail == "token" else [*range(len(request.chain))]
    )
    for step in request.steps:
        for operation, index in step.before:
            if operation == "reset":
                instances[index].reset()
            else:
                instances.append(instances[index].clone())
        instance = instances[step.instance]
        candidates = backend.candidates(rows[step.row])
        results: list[p.StageResult] = []
        for stage in all_stages:
            start = time.perf_counter_ns()
            instance.apply(stage, candidates)
            ns += time.perf_counter_ns() - start
            if request.detail == "stages":
                result, at = _write(scratch, at, backend.result(candidates))
                results.append(result)
        if request.whole_chain and request.detail == "stages":
            whole = backend.candidates(rows[step.row])
            instance.apply(None, whole)
            result, at = _write(scratch, at, backend.result(whole))
            results.append(result)
        ids, _, _, _, selected = backend.result(candidates)
        token = int(ids[selected]) if 0 <= selected < len(ids) else None
        tokens.append(token)
        stages.append(results)
        accepted = token if step.accept == "selected" else step.accept
        if accepted is not None:
            instance.accept(accepted)
    return p.RunReply(tokens=tokens, stages=stages, ns=ns)


def _write(scratch: Scratch, at: int, result: Result) -> tuple[p.StageResult, int]:
    ids, logits, probs, is_sorted, selected = result
    n = len(ids)
    scratch.ensure(at + 12 * n)
    scratch.view(at, n, np.int32)[:] = ids
    scratch.view(at + 4 * n, n, np.float32)[:] = logits
    scratch.view(at + 8 * n, n, np.float32)[:] = probs
    return p.StageResult(at=at, n=n, sorted=is_sorted, selected=selected), at + 12 * n


def draws(backend: Backend, scratch: Scratch, request: p.DrawsRequest) -> p.DrawsReply:
    row = scratch.view(request.rows.at, request.rows.n, np.float32)
    instance = backend.build(request.chain, request.n_vocab, request.vocab)
    for token in request.history:
        instance.accept(token)
    uniforms = None
    if request.uniforms is not None:
        uniforms = scratch.view(request.uniforms, request.n, np.float64)
    start = time.perf_counter_ns()
    if request.filters_once and isinstance(instance, Drawer):
        out = instance.draw(backend.candidates(row), request.n, uniforms)
    elif uniforms is not None:
        raise Unsupported("takes no uniforms here")
    else:
        out = np.empty(request.n, np.int32)
        for i in range(request.n):
            candidates = backend.candidates(row)
            instance.apply(None, candidates)
            ids, _, _, _, selected = backend.result(candidates)
            out[i] = ids[selected]
    ns = time.perf_counter_ns() - start
    scratch.write(request.out, out)
    return p.DrawsReply(ns=ns)


def time_chain(backend: Backend, scratch: Scratch, request: p.TimeRequest) -> p.TimeReply:
    row = scratch.view(request.rows.at, request.rows.n, np.float32)
    instance = backend.build(request.chain, request.n_vocab, request.vocab)
    for token in request.history:
        instance.accept(token)
    idle = _idle(backend, request)
    ns, setup_ns = [], []
    for _ in range(request.repetitions):
        begun = time.perf_counter_ns()
        candidates = backend.candidates(row)
        setup_ns.append(time.perf_counter_ns() - begun)
        if idle is not None:  # making candidates threw this code out of the processor's caches
            idle.apply(None, candidates)
        start = time.perf_counter_ns()
        instance.apply(None, candidates)
        ns.append(time.perf_counter_ns() - start)
    return p.TimeReply(ns=ns, setup_ns=setup_ns)


def _idle(backend: Backend, request: p.TimeRequest) -> Instance | None:
    """A chain of nothing, which takes the same way to do it; None where a backend has none."""
    try:
        return backend.build([], request.n_vocab, request.vocab)
    except (Unsupported, ChainError, InputError):
        return None


def decode(backend: Backend, scratch: Scratch, request: p.DecodeRequest) -> p.DecodeReply:
    if not isinstance(backend, Decoder):
        raise Unsupported("decodes no model")
    backend.decode(request, _logits(scratch, request.out, len(request.tokens), request.n_vocab))
    return p.DecodeReply()


def generate(backend: Backend, scratch: Scratch, request: p.GenerateRequest) -> p.GenerateReply:
    if not isinstance(backend, Generator | GraphGenerator):
        raise Unsupported("decodes no model")
    rows = _logits(scratch, request.out, request.n_tokens, request.n_vocab)
    if isinstance(backend, Generator):
        return backend.generate(request, rows)
    reply, results = backend.generate_in_graph(request, rows)
    at = request.out + rows.nbytes
    stages = []
    for result in results:
        stage, at = _write(scratch, at, result)
        stages.append(stage)
    return reply.model_copy(update={"handed_back": stages})


def _logits(scratch: Scratch, at: int, count: int, n: int) -> NDArray[np.float32]:
    """Room for count rows of n logits."""
    scratch.ensure(at + 4 * count * n)
    return scratch.view(at, count * n, np.float32).reshape(count, n)


def answer(backend: Backend, scratch: Scratch, request: p.Request) -> p.Reply | p.ErrorReply:
    try:
        if isinstance(request, p.RunRequest):
            return run(backend, scratch, request)
        if isinstance(request, p.DrawsRequest):
            return draws(backend, scratch, request)
        if isinstance(request, p.TimeRequest):
            return time_chain(backend, scratch, request)
        if isinstance(request, p.DecodeRequest):
            return decode(backend, scratch, request)
        if isinstance(request, p.GenerateRequest):
            return generate(backend, scratch, request)
        if isinstance(request, p.ThroughputRequest):
            if not isinstance(backend, Throughput):
                raise Unsupported("decodes no model")
            return backend.throughput(request)
        return backend.hello()
    except Unsupported as error:
        return p.ErrorReply(kind="unsupported", message=str(error))
    except (ChainError, UndefinedInputError, InputError) as error:
        return p.ErrorReply(kind="rejected", message=str(error))


def serve(backend: Backend, replies: Any) -> None:
    scratch: Scratch | None = None
    for line in sys.stdin:
        try:
            request = p.request_adapter.validate_python(p.numbers(json.loads(line)))
        except (ValidationError, json.JSONDecodeError) as error:
            reply: p.Reply | p.ErrorReply = p.ErrorReply(kind="rejected", message=str(error))
        else:
            if isinstance(request, p.ByeRequest):
                return
            if isinstance(request, p.HelloRequest):
                scratch = Scratch(Path(request.scratch))
            if scratch is None:
                reply = p.ErrorReply(kind="rejected", message="say hello first")
            else:
                reply = answer(backend, scratch, request)
        replies.write(p.to_line(reply) + "\n")
        replies.flush()


def _limit_memory() -> None:
    """A request that wants all memory ends this process and not the machine."""
    if sys.platform == "linux":  # elsewhere there is no such limit, or it is not kept
        import resource

        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory // 2 if hard == resource.RLIM_INFINITY else min(hard, memory // 2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_worker(make: Callable[[], Backend]) -> None:
    """Serve until bye. make: is called once nothing that is printed can be taken for a reply."""
    _limit_memory()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(make(), replies)


def main() -> None:
    name, *arguments = sys.argv[1:]
    run_worker(lambda: cast(Backend, importlib.import_module(WORKERS[name]).Worker(*arguments)))


if __name__ == "__main__":
    main()
