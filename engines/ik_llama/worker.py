"""ik_llama: the sampling functions of ik_llama.cpp, as ik-llama-cpp-python 0.1.5 has it compiled.

A stage is a call of one of them (stage.py); which one, and what it takes: functions.py.
"""

import os
import tempfile
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.ik_llama.functions import LLAMA_CPP, OWN, own_stage
from sampler_parity.engines.ik_llama.library import Library
from sampler_parity.engines.ik_llama.stage import Stage
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply


class Instance:
    def __init__(self, stages: list[Stage]) -> None:
        self.stages = stages

    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        for chosen in self.stages if stage is None else [self.stages[stage]]:
            chosen.apply(candidates)

    def accept(self, token: int) -> None:
        for stage in self.stages:
            stage.accept(token)

    def reset(self) -> None:
        for stage in self.stages:
            stage.reset()

    def clone(self) -> "Instance":
        return Instance([stage.clone() for stage in self.stages])

    def draw(
        self, candidates: NativeCandidates, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Draw n tokens by the last stage, which leaves the candidates as they are."""
        if uniforms is not None:
            raise Unsupported("ik_llama.cpp takes no uniforms")
        for stage in self.stages[:-1]:
            stage.apply(candidates)
        ids, last = candidates.current()["id"], self.stages[-1]
        selected = np.empty(n, np.int64)
        for i in range(n):
            last.apply(candidates)
            selected[i] = candidates.array.selected
        return ids[selected].astype(np.int32)


class Worker:
    def __init__(self) -> None:
        self.library = Library()
        # where p is NaN the library writes probabilities.txt into the folder that it runs in
        self._folder = tempfile.TemporaryDirectory(prefix=f"sampler-parity-{os.getpid()}-")
        os.chdir(self._folder.name)

    def hello(self) -> HelloReply:
        return HelloReply(
            name="ik_llama",
            version=f"ik-llama-cpp-python {version('ik-llama-cpp-python')}",
            capabilities=["run", "draws", "time"],
            samplers=[*LLAMA_CPP, *OWN],
            arithmetic=Arithmetic(summation="sequential", exp_ulps=1.0),
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        stages = [own_stage(*one) for stage in chain for one in stage.items()]
        return Instance([Stage(self.library, *stage, n_vocab, vocab) for stage in stages])

    def candidates(self, logits: NDArray[np.float32]) -> NativeCandidates:
        return NativeCandidates(logits)

    def result(self, candidates: NativeCandidates) -> tuple[Any, Any, Any, bool | None, int]:
        return candidates.result()
