"""The stages of vLLM's second model runner that differ from those of the first.

    vllm_allowed_token_ids, logit_bias, vllm_min_tokens, vllm_penalties, vllm_bad_words,
    vllm_temperature, vllm_gpu_min_p, vllm_gpu_top_k, vllm_gpu_top_p, vllm_gpu_sample

is its order; those called vllm_ are defined in engines/vllm/model, and its kernels have the same
meaning. Allowed ids, bias and minimum of tokens are one kernel.

Source: Sampler.__init__ and Sampler.apply_sampling_params,
    vllm/v1/worker/gpu/sample/sampler.py 70-77 and 226-276 at 0.32.0.
Suite: engines/vllm_gpu/suites/vllm_gpu/vllm_gpu_stages.toml
"""

from sampler_parity.engines.vllm_gpu.model.logprobs import VllmGpuLogprobs
from sampler_parity.engines.vllm_gpu.model.min_p import VllmGpuMinP
from sampler_parity.engines.vllm_gpu.model.sample import VllmGpuSample
from sampler_parity.engines.vllm_gpu.model.top_k import VllmGpuTopK
from sampler_parity.engines.vllm_gpu.model.top_p import VllmGpuTopP

STAGES = {
    "vllm_gpu_logprobs": VllmGpuLogprobs,
    "vllm_gpu_min_p": VllmGpuMinP,
    "vllm_gpu_sample": VllmGpuSample,
    "vllm_gpu_top_k": VllmGpuTopK,
    "vllm_gpu_top_p": VllmGpuTopP,
}
