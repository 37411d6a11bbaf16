"""llama.cpp's native chain, as a worker that measures skip ratios, too."""

from sampler_parity.harness.llama_cpp import worker
from sampler_parity.harness.protocol.messages import HelloReply, SkipRatioReply, SkipRatioRequest
from sampler_parity.harness.trie.worker import claiming, skip_ratio


class Worker(worker.Worker):
    def __init__(self, *build: str) -> None:
        super().__init__(*build)
        self.build_arguments = build

    def hello(self) -> HelloReply:
        return claiming(super().hello())

    def skip_ratio(self, request: SkipRatioRequest) -> SkipRatioReply:
        return skip_ratio(request, self.build_arguments)
