"""Faults of the newest llama.cpp, as its worker would hand them on."""

from typing import Any

from sampler_parity.engines.xllamacpp.worker import Worker
from sampler_parity.harness.faults.engine_faults import Fault


class Faulty(Worker):
    sampler, parameter = "", ""

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        ((name, parameters),) = stage.items()
        if name == self.sampler:
            more = {self.parameter: parameters[self.parameter] + 1}
            stage = {name: parameters | more}
        return super()._init(stage, n_vocab, vocab)


class OneMore(Faulty):
    """top_k keeps one more than k."""

    sampler, parameter = "top_k", "k"


class NextSeed(Faulty):
    """dist takes the next seed."""

    sampler, parameter = "dist", "seed"


class Warmer(Faulty):
    """The temperature is increased by one."""

    sampler, parameter = "temp", "temp"


FAULTS = [
    Fault("xllamacpp/top_k-one-more", OneMore, "top_k/", "top_k"),
    Fault("xllamacpp/next-seed", NextSeed, "dist/", "dist"),
    Fault("xllamacpp/warmer", Warmer, "temp/", "temp"),
]
