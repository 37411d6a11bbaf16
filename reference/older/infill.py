"""infill up to b6673.

Source: llama_sampler_infill_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.sampler import NONE, Old, in_state, sort
from sampler_parity.reference.samplers.infill import Infill
from sampler_parity.reference.vocab import Vocab


class OldInfill(Infill):
    old: Old = NONE

    def __init__(self, vocab: Vocab | None = None) -> None:
        super().__init__(vocab)
        if "infill-no-eos" in self.old:
            self.end = self.vocab.eot

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        super().apply(cand)

    def clone(self) -> "OldInfill":
        return in_state(self, super().clone())
