"""vllm_gpu_logprobs: the probabilities of the remaining tokens ("processed_logprobs").

    p = exp(logit - max - log(sum of exp(logit - max)))

The kernel gives the logarithm of the tokens that are asked for; the sum is that of blocks of 1,024.

Ties: none. Edges: if all are -inf p is NaN.
Source: _topk_log_softmax_kernel, vllm/v1/worker/gpu/sample/logprob.py 17-58 at 0.32.0; the softmax
    is 35-57.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.vllm.model.softmax import softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.sampler import Stateless


class VllmGpuLogprobs(Stateless):
    name = "vllm_gpu_logprobs"

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        cand.p = softmax(cand.logits).astype(cand.p.dtype)
