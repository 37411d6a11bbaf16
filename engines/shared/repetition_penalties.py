"""llama_sample_repetition_penalties of llama.cpp's older shape, of ik_llama.cpp and GPT4All."""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.samplers.penalties import Penalties


class RepetitionPenalties(Penalties):
    name = "ik_llama_repetition_penalties"

    def apply(self, cand: Candidates) -> None:
        if len(self.history.counts()[0]):  # with no token C returns before it unsets sorted
            super().apply(cand)

    def clone(self) -> "RepetitionPenalties":
        twin = RepetitionPenalties(
            self.penalty_last_n, self.penalty_repeat, self.penalty_freq, self.penalty_present
        )
        twin.history = self.history.copy()
        return twin
