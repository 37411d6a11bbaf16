"""greedy: select the most likely token.

    selected = the first i with logit_i >= every logit

Parameters: none.
Ties: the first candidate among the largest. This is not always the lowest id, because earlier
    stages may change the order.
Edges: a NaN never wins unless it is the first candidate: then nothing beats it. All -inf: the first
    candidate. No candidates: llama.cpp selects index 0 of nothing; `Candidates.token` then raises.
Source: `llama_sampler_greedy_apply`, src/llama-sampler.cpp at v0.5.0.
Suite: suites/parity/greedy.toml
"""

from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.sampler import Stateless


class Greedy(Stateless):
    name = "greedy"

    def apply(self, cand: Candidates) -> None:
        cand.selected = floats.first_largest(cand.logits)
