"""infill up to b6673.

Source: llama_sampler_infill_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.infill import Infill
from sampler_parity.reference.vocab import Vocab


class InfillB6673(Infill):
    def __init__(self, old: Old, vocab: Vocab | None = None) -> None:
        super().__init__(vocab)
        self.old = old
        if "infill-no-eos" in old:
            self.end = self.vocab.eot

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        super().apply(cand)
