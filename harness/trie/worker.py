"""What the workers llama_cpp and token_trie have in common: they measure skip ratios, too, with the
bench in their process."""

from sampler_parity.harness.llama_cpp import token_trie, worker
from sampler_parity.harness.protocol.messages import HelloReply, SkipRatioReply, SkipRatioRequest


class Measuring(worker.Worker):
    """build: folder, release and device."""

    def __init__(self, *build: str) -> None:
        super().__init__(*build)
        self.build_arguments = build

    def hello(self) -> HelloReply:
        hello = super().hello()
        return hello.model_copy(update={"capabilities": [*hello.capabilities, "skip_ratio"]})

    def skip_ratio(self, request: SkipRatioRequest) -> SkipRatioReply:
        """Measure for a request. Raises InputError, Unsupported."""
        from sampler_parity.harness.trie.bench import Bench, run  # what most workers never need

        bench = Bench(
            request.model,
            request.leaves,
            tuple(request.prompts),
            worker=token_trie.Worker(*self.build_arguments),
            delay_ms=request.delay_ms,
        )
        try:
            measured = run(bench, "strict-trie-ffi", request.rounds, request.seed)
            return SkipRatioReply(measured=measured)
        finally:
            bench.close()
