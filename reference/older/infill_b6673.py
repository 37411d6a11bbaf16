"""infill up to b6673.

Source: llama_sampler_infill_apply, src/llama-sampling.cpp, later src/llama-sampler.cpp.
"""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.samplers.infill import Infill
from sampler_parity.reference.vocab import Vocab


class InfillB6673:
    name = "infill"

    def __init__(self, old: Old, vocab: Vocab | None = None) -> None:
        self.old = old
        self.today = Infill(vocab)
        if "infill-no-eos" in old:
            self.today.end = self.today.vocab.eot

    def apply(self, cand: Candidates) -> None:
        sort(cand, self.old)
        self.today.apply(cand)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "InfillB6673":
        return InfillB6673(self.old, self.today.vocab)
