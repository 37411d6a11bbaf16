"""vLLM's logits processors, as its sampler applies them to one request's row.

    vllm_allowed_token_ids, vllm_bad_words, vllm_min_tokens, logit_bias, vllm_penalties

is their order;

    vllm_temperature, vllm_min_p, vllm_top_k, vllm_top_p, vllm_sample, vllm_logprobs

follow. Banned tokens are -inf and stay candidates. Each stage takes the whole vocabulary. None uses
tokens of a neighbour's row, or the padding that makes prompts of a batch equally long.

ignore_eos bans nothing in vLLM: the request goes on after an end-of-text token, which may be drawn
(llama.cpp's bans them all: reference/pipelines/ignore_eos.py).
Source: vllm/v1/sample/sampler.py at 0.32.0.
Suites: engines/vllm/suites/origin/vllm.toml, engines/vllm/suites/vllm/vllm_stages.toml
"""

from sampler_parity.engines.vllm.model.allowed_token_ids import VllmAllowedTokenIds
from sampler_parity.engines.vllm.model.bad_words import VllmBadWords
from sampler_parity.engines.vllm.model.logprobs import VllmLogprobs
from sampler_parity.engines.vllm.model.min_p import VllmMinP
from sampler_parity.engines.vllm.model.min_tokens import VllmMinTokens
from sampler_parity.engines.vllm.model.penalties import VllmPenalties
from sampler_parity.engines.vllm.model.sample import VllmSample
from sampler_parity.engines.vllm.model.temperature import VllmTemperature
from sampler_parity.engines.vllm.model.top_k import VllmTopK
from sampler_parity.engines.vllm.model.top_p import VllmTopP

STAGES = {
    "vllm_allowed_token_ids": VllmAllowedTokenIds,
    "vllm_bad_words": VllmBadWords,
    "vllm_logprobs": VllmLogprobs,
    "vllm_min_p": VllmMinP,
    "vllm_min_tokens": VllmMinTokens,
    "vllm_penalties": VllmPenalties,
    "vllm_sample": VllmSample,
    "vllm_temperature": VllmTemperature,
    "vllm_top_k": VllmTopK,
    "vllm_top_p": VllmTopP,
}

__all__ = ["STAGES", "VllmTopP"]
