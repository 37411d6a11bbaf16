"""Faults of ik_llama.cpp's functions, as its worker would hand them on."""

from typing import Any

from sampler_parity.engines.ik_llama.stage import Stage
from sampler_parity.engines.ik_llama.worker import Instance, Worker
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.protocol.messages import ChainSpec


class Faulty(Worker):
    stage: type[Stage]

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        instance = super().build(chain, n_vocab, vocab)
        for stage in instance.stages:
            stage.__class__ = self.stage
        return instance


class OneMore(Faulty):
    """top_k keeps one more than k."""

    class stage(Stage):  # noqa: N801
        def apply(self, candidates: NativeCandidates) -> None:
            k = self.of.get("k")
            if k is not None:
                self.of = self.of | {"k": k + 1}
            super().apply(candidates)
            if k is not None:
                self.of = self.of | {"k": k}


class ForgetsThePenaltyWindow(Faulty):
    """All tokens accepted are penalized, however long ago."""

    class stage(Stage):  # noqa: N801
        def apply(self, candidates: NativeCandidates) -> None:
            if self.name == "repetition_penalties":
                self.of = self.of | {"penalty_last_n": 1 << 20}
            super().apply(candidates)


class SeedsEveryDraw(Faulty):
    """The generator is seeded anew at every draw."""

    class stage(Stage):  # noqa: N801
        def apply(self, candidates: NativeCandidates) -> None:
            super().apply(candidates)
            self.drawn = 0
            self.library.drawing.clear()


class MuStands(Faulty):
    """mu never moves."""

    class stage(Stage):  # noqa: N801
        def apply(self, candidates: NativeCandidates) -> None:
            mu = self.mu.value
            super().apply(candidates)
            self.mu.value = mu


def _fault(name: str, make: Any, case: str, stage: str) -> Fault:
    return Fault(f"ik_llama/{name}", make, f"ik_functions/{case}", f"ik_llama_{stage}")


FAULTS = [
    _fault("top_k-one-more", OneMore, "chain-of-the-package", "top_k"),
    _fault(
        "penalties-without-window",
        ForgetsThePenaltyWindow,
        "penalties-all-three",
        "repetition_penalties",
    ),
    _fault("seeded-every-draw", SeedsEveryDraw, "token-float-sum", "token"),
    _fault("mu-stands", MuStands, "mirostat-k", "mirostat"),
]
