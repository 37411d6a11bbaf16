"""Builds of llama.cpp that are up for release: `python -m harness.mutants.candidates NAME`.

For the rehearsal of a release (docs/releasing.md): one is llama.cpp as it is, the others hold one
fault each, planted between the protocol and the native sampler.
"""

import sys
import time
from typing import Any

from harness.backends.llama_cpp import NativeCandidates, NativeChain, Worker
from harness.protocol import ChainSpec
from harness.worker import run_worker

SLOWER_PERCENT = 10


class WrongPenalties(Worker):
    """penalty_freq and penalty_present change places on their way into `penalties`."""

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        if "penalties" in stage:
            given = stage["penalties"]
            freq, present = given.get("penalty_freq", 0.0), given.get("penalty_present", 0.0)
            stage = {"penalties": given | {"penalty_freq": present, "penalty_present": freq}}
        return super()._init(stage, n_vocab, vocab)


class SlowerChain(NativeChain):
    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        start = time.perf_counter_ns()
        super().apply(stage, candidates)
        taken = time.perf_counter_ns() - start
        until = start + taken + taken * SLOWER_PERCENT // 100
        while time.perf_counter_ns() < until:
            pass

    def clone(self) -> "SlowerChain":
        twin = super().clone()
        twin.__class__ = SlowerChain
        assert isinstance(twin, SlowerChain)
        return twin


class Slower(Worker):
    """Every stage takes a tenth longer; the results are right."""

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> NativeChain:
        built = super().build(chain, n_vocab, vocab)
        built.__class__ = SlowerChain
        return built


CANDIDATES: dict[str, type[Worker]] = {
    "clean": Worker,
    "wrong-penalties": WrongPenalties,
    "slower": Slower,
}


if __name__ == "__main__":
    run_worker(CANDIDATES[sys.argv[1]])
