"""vllm_logprobs: the probabilities of the survivors, as its mode "processed_logprobs" has them.

    p = softmax(logits)

vLLM returns their logarithms, and draws from the logits without them. (Its default, "raw_logprobs",
is of the logits before any stage.)

Ties: none. Edges: if all are -inf p is NaN.
Source: Sampler.compute_logprobs, vllm/v1/sample/sampler.py at 0.32.0.
Suite: engines/vllm/suites/vllm/vllm_stages.toml
"""

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.sampler import Stateless


class VllmLogprobs(Stateless):
    name = "vllm_logprobs"

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        cand.p = softmax(cand.logits).astype(cand.p.dtype)
