"""llama.cpp's in-graph samplers: the chain is part of the model's graph and runs on its device.

A context that samples in its graph returns the chain's candidates, not the model's logits. The
logits come from a second context without a chain, which decodes the same tokens on the same device.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp import worker
from sampler_parity.harness.llama_cpp.decode import Context, handed_back, measure
from sampler_parity.harness.llama_cpp.sequences import follow
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result


class Worker:
    """folder, release, device: as the Worker of llama_cpp takes them."""

    def __init__(self, *build: str) -> None:
        self.native = worker.Worker(*build)

    def hello(self) -> p.HelloReply:
        hello = self.native.hello()
        can = ["decode", "generate", "throughput", "sequences", "in_graph"]
        can = can if "generate" in hello.capabilities else []
        return hello.model_copy(update={"name": "llama.cpp/graph", "capabilities": can})

    def build(self, _chain: p.ChainSpec, _n_vocab: int, _vocab: str | None) -> Any:
        raise Unsupported("samples only while it decodes")

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        """Return the model's logits, before any sampler."""
        self.native.decode(request, rows)

    def throughput(self, request: p.ThroughputRequest) -> p.ThroughputReply:
        model = self.native.model(request)
        return measure(model, self.native.chains(request), request, in_graph=True)

    def sequences(
        self, request: p.SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[p.SequencesReply, list[Result]]:
        return follow(self.native, request, rows, in_graph=True)

    def generate_in_graph(
        self, request: p.GenerateRequest, rows: NDArray[np.float32]
    ) -> tuple[p.GenerateReply, list[Result]]:
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
                results.append(handed_back(graph))
                start = time.perf_counter_ns()
                tokens.append(chain.sample(graph.pointer))
                ns += time.perf_counter_ns() - start
                further = tokens[-1:]
            reply = p.GenerateReply(tokens=tokens, ns=ns, in_graph=chain.in_graph())
        finally:
            plain.close()
            graph.close()
        return reply, results
