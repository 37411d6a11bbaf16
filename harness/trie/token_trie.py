"""The native chain with the token trie in it, as a worker that measures skip ratios, too."""

from sampler_parity.harness.llama_cpp import token_trie
from sampler_parity.harness.protocol.messages import HelloReply, SkipRatioReply, SkipRatioRequest
from sampler_parity.harness.trie.worker import claiming, skip_ratio


class Worker(token_trie.Worker):
    def __init__(self, *build: str) -> None:
        super().__init__(*build)
        self.build_arguments = build

    def hello(self) -> HelloReply:
        return claiming(super().hello())

    def skip_ratio(self, request: SkipRatioRequest) -> SkipRatioReply:
        return skip_ratio(request, self.build_arguments)
