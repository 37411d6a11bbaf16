"""mirostat up to b9842, and mirostat_v2 up to b6133: today's, which sorted all candidates first.

Source: llama_sampler_mirostat_apply, _clone and llama_sampler_mirostat_v2_apply,
src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from copy import copy
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2


class SortedMirostat:
    def __init__(self, old: Old, today: Mirostat | MirostatV2) -> None:
        self.name, self.old, self.today = today.name, old, today

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        self.today.apply(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.today.reset()

    def clone(self) -> "SortedMirostat":
        twin = copy(self)
        twin.today = self.today.clone()
        if "mirostat-clone-anew" in self.old:
            twin.reset()
        return twin


def mirostat_b9842(
    old: Old, seed: Any, n_vocab: Any, tau: Any = 5.0, eta: Any = 0.1, m: Any = 100
) -> SortedMirostat:
    return SortedMirostat(old, Mirostat(seed, n_vocab, tau, eta, m))


def mirostat_v2_b6133(old: Old, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> SortedMirostat:
    return SortedMirostat(old, MirostatV2(seed, tau, eta))
