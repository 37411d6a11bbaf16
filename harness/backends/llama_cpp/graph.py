"""llama.cpp's in-graph samplers: the chain is part of the model's graph and runs on its device.

A context whose graph samples hands back what the chain left and not the model's logits. These come
from a second context without a chain, which decodes the same tokens on the same device.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.llama_cpp import worker
from sampler_parity.harness.backends.llama_cpp.decode import Context
from sampler_parity.harness.backends.llama_cpp.throughput import measure
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import (
    ChainSpec,
    DecodeRequest,
    GenerateReply,
    GenerateRequest,
    HelloReply,
    ThroughputReply,
    ThroughputRequest,
)

Result = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32], bool | None, int]


class Worker:
    """folder, release, device: as the Worker of llama_cpp takes them."""

    def __init__(self, *build: str) -> None:
        self.native = worker.Worker(*build)

    def hello(self) -> HelloReply:
        hello = self.native.hello()
        can = ["decode", "generate", "throughput", "in_graph"]
        can = can if "generate" in hello.capabilities else []
        return hello.model_copy(update={"name": "llama.cpp/graph", "capabilities": can})

    def build(self, _chain: ChainSpec, _n_vocab: int, _vocab: str | None) -> Any:
        raise Unsupported("samples only while it decodes")

    def decode(self, request: DecodeRequest, rows: NDArray[np.float32]) -> None:
        """The model's logits, before any sampler."""
        self.native.decode(request, rows)

    def throughput(self, request: ThroughputRequest) -> ThroughputReply:
        return measure(self.native, request, in_graph=True)

    def generate_in_graph(
        self, request: GenerateRequest, rows: NDArray[np.float32]
    ) -> tuple[GenerateReply, list[Result]]:
        model = self.native.model(request)
        chain = self.native.build(request.chain, request.n_vocab, request.model)
        n = len(request.prompt) + request.n_tokens
        for token in request.prompt:  # before it is decoded: penalties look at the history then
            chain.accept(token)
        plain, graph = Context(model, n), Context(model, n, chains=[chain.chain])
        tokens: list[int] = []
        results: list[Result] = []
        further, ns = request.prompt, 0
        try:
            for row in rows:
                row[:] = plain.decode(further)
                graph.decode(further)
                results.append(_handed_back(graph))
                start = time.perf_counter_ns()
                tokens.append(chain.sample(graph.pointer))
                ns += time.perf_counter_ns() - start
                further = tokens[-1:]
            reply = GenerateReply(tokens=tokens, ns=ns, in_graph=chain.in_graph())
        finally:
            plain.close()
            graph.close()
        return reply, results


def _handed_back(context: Context) -> Result:
    """Copies of the last output's candidates; p is 0 where the graph computes none."""
    library, pointer = context.library, context.pointer

    def taken(what: str) -> NDArray[Any] | None:
        n = getattr(library, f"llama_get_sampled_{what}_count_ith")(pointer, -1)
        if n == 0:
            return None
        values = getattr(library, f"llama_get_sampled_{what}_ith")(pointer, -1)
        return np.ctypeslib.as_array(values, (n,)).copy()

    logits = taken("logits")
    assert logits is not None  # build_sampling always hands back logits
    ids, p = taken("candidates"), taken("probs")
    ids = np.arange(len(logits), dtype=np.int32) if ids is None else ids
    return ids, logits, np.zeros_like(logits) if p is None else p, None, -1
