"""llama.cpp's native chain, slower by a share of its own time: what a timing must notice.

`slow/10` takes 10% longer for each application, waiting busily. It is a planted fault, for the
self-check of the timings and for gates; its results are llama.cpp's.
"""

import time

from sampler_parity.harness.llama_cpp import worker
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply


class SlowChain(NativeChain):
    share = 0.0

    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        start = time.perf_counter_ns()
        super().apply(stage, candidates)
        end = time.perf_counter_ns()
        end += round((end - start) * self.share)
        while time.perf_counter_ns() < end:
            pass


class Worker(worker.Worker):
    """percent: how much longer."""

    def __init__(self, percent: str, *build: str) -> None:
        super().__init__(*build)
        self.percent = float(percent)

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"name": f"slow/{self.percent:g}"})

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> SlowChain:
        native = super().build(chain, n_vocab, vocab)
        native.__class__ = SlowChain
        assert isinstance(native, SlowChain)
        native.share = self.percent / 100
        return native
