"""Decode many sequences at once with libllama and time it, like a server with that many slots."""

import time

from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.decode import Context, Further, Model
from sampler_parity.harness.protocol.messages import ThroughputReply, ThroughputRequest


def measure(
    model: Model, chains: list[NativeChain], request: ThroughputRequest, in_graph: bool
) -> ThroughputReply:
    """Decode with a chain for each sequence. in_graph: put the chains into the model's graph."""
    for chain in chains:  # before it is decoded: in the graph, penalties look at the history then
        for token in request.prompt:
            chain.accept(token)
    context = Context(
        model,
        len(request.prompt) + request.n_tokens,
        chains=[chain.chain for chain in chains] if in_graph else None,
        sequences=request.sequences,
    )
    try:
        return _generate(context, chains, request, in_graph)
    finally:
        context.close()


def _generate(
    context: Context, chains: list[NativeChain], request: ThroughputRequest, in_graph: bool
) -> ThroughputReply:
    prompt_ns = _decode(context, [request.prompt] * len(chains))
    last = len(request.prompt)
    sample_ns, decode_ns, sampled = [], [], []
    for _ in range(request.n_tokens):
        start = time.perf_counter_ns()
        tokens = [
            chain.sample(context.pointer, (i + 1) * last - 1) for i, chain in enumerate(chains)
        ]
        sample_ns.append(time.perf_counter_ns() - start)
        sampled.append(tokens)
        decode_ns.append(_decode(context, [[token] for token in tokens]))
        last = 1
    return ThroughputReply(
        prompt_ns=prompt_ns,
        sample_ns=sample_ns,
        decode_ns=decode_ns,
        tokens=sampled,
        in_graph=chains[0].in_graph() if in_graph else 0,
    )


def _decode(context: Context, further: list[list[int]]) -> int:
    """Decode the same number of further tokens of every sequence in one batch; return
    nanoseconds."""
    parts = [Further(i, context.length, tokens) for i, tokens in enumerate(further)]
    ns = context.decode_together(parts)
    context.length += len(further[0])
    return ns
