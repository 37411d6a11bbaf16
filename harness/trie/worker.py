"""The reply of the workers llama.cpp and token_trie to `skip_ratio`: the bench, in their
process."""

from sampler_parity.harness.llama_cpp import token_trie
from sampler_parity.harness.protocol.messages import HelloReply, SkipRatioReply, SkipRatioRequest


def claiming(hello: HelloReply) -> HelloReply:
    return hello.model_copy(update={"capabilities": [*hello.capabilities, "skip_ratio"]})


def skip_ratio(request: SkipRatioRequest, build: tuple[str, ...]) -> SkipRatioReply:
    """Measure for a request. build: folder, release and device. Raises InputError, Unsupported."""
    from sampler_parity.harness.trie.bench import Bench, run  # what most workers never need

    bench = Bench(
        request.model,
        request.leaves,
        tuple(request.prompts),
        worker=token_trie.Worker(*build),
        delay_ms=request.delay_ms,
    )
    try:
        return SkipRatioReply(measured=run(bench, "strict-trie-ffi", request.rounds, request.seed))
    finally:
        bench.close()
