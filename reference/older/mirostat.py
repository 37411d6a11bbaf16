"""mirostat up to b9842, and mirostat_v2 up to b6133.

Source: llama_sampler_mirostat_apply, _clone and llama_sampler_mirostat_v2_apply,
src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2


class OldMirostat(Mirostat):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        super().apply(cand)

    def clone(self) -> "OldMirostat":
        twin = in_state(self, super().clone())
        if "mirostat-clone-anew" in self.old:
            twin.reset()
        return twin


class OldMirostatV2(MirostatV2):
    old: Old = NONE

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        super().apply(cand)

    def clone(self) -> "OldMirostatV2":
        return in_state(self, super().clone())
