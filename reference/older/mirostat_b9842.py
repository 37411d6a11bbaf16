"""mirostat up to b9842, and mirostat_v2 up to b6133.

Source: llama_sampler_mirostat_apply, _clone and llama_sampler_mirostat_v2_apply,
src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from copy import copy
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2


class MirostatB9842:
    name = "mirostat"

    def __init__(
        self, old: Old, seed: Any, n_vocab: Any, tau: Any = 5.0, eta: Any = 0.1, m: Any = 100
    ) -> None:
        self.old = old
        self.today = Mirostat(seed, n_vocab, tau, eta, m)

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        self.today.apply(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.today.reset()

    def clone(self) -> "MirostatB9842":
        twin = copy(self)
        twin.today = self.today.clone()
        if "mirostat-clone-anew" in self.old:
            twin.reset()
        return twin


class MirostatV2B6133:
    name = "mirostat_v2"

    def __init__(self, old: Old, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        self.old = old
        self.today = MirostatV2(seed, tau, eta)

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        self.today.apply(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.today.reset()

    def clone(self) -> "MirostatV2B6133":
        twin = copy(self)
        twin.today = self.today.clone()
        return twin
