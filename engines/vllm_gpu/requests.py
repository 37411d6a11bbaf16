"""A chain as vLLM's SamplingParams, in the one order of its second model runner: that of SLOTS."""

from dataclasses import dataclass, field
from typing import Any

from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.vllm.arguments import Runner, params_of
from sampler_parity.engines.vllm_gpu.package import vllm_gpu
from sampler_parity.harness.protocol.messages import ChainSpec

ALLOWED, BIAS, MIN_TOKENS, PENALTIES, BAD_WORDS = range(5)
TEMPERATURE, MIN_P, TOP_K, TOP_P, SELECT, LOGPROBS = range(5, 11)
SLOTS = {
    "vllm_allowed_token_ids": ALLOWED,
    "logit_bias": BIAS,
    "vllm_min_tokens": MIN_TOKENS,
    "vllm_penalties": PENALTIES,
    "vllm_bad_words": BAD_WORDS,
    "vllm_temperature": TEMPERATURE,
    "temp": TEMPERATURE,
    "vllm_gpu_min_p": MIN_P,
    "min_p": MIN_P,
    "vllm_gpu_top_k": TOP_K,
    "top_k": TOP_K,
    "vllm_gpu_top_p": TOP_P,
    "top_p": TOP_P,
    "vllm_gpu_sample": SELECT,
    "dist": SELECT,
    "greedy": SELECT,
    "vllm_gpu_logprobs": LOGPROBS,
}
RUNNER = Runner(
    "vLLM's second runner", SLOTS, "the compiled kernel is that of the first model runner"
)


def sampling_params(chain: ChainSpec) -> Any:
    """Return a chain as vLLM's SamplingParams. Raises Unsupported, InputError."""
    engine = vllm_gpu()
    make = engine.sampling_params.SamplingParams.from_optional
    return params_of(chain, RUNNER, make, engine.exceptions.VLLMError)


@dataclass
class Request:
    """params: of each prefix of the chain, the whole last; params[0] has no stage. A greedy request
    is greedy in all of them: vLLM then takes no filter. slots, names: of the stages."""

    chain: ChainSpec
    params: list[Any]
    slots: list[int]
    past: Past = field(default_factory=Past)

    @classmethod
    def of(cls, chain: ChainSpec, prompt: list[int], output: list[int]) -> "Request":
        prefixes = [
            [*chain[:n], *(stage for stage in chain[n:] if "greedy" in stage)]
            for n in range(len(chain) + 1)
        ]
        slots = [SLOTS[name] for stage in chain for name in stage]
        params = [sampling_params(prefix) for prefix in prefixes]
        return cls(chain, params, slots, Past(list(prompt), list(output)))

    @property
    def names(self) -> list[str]:
        return [name for stage in self.chain for name in stage]

    @property
    def selects(self) -> bool:
        return SELECT in self.slots

    def copy(self) -> "Request":
        return Request(self.chain, self.params, self.slots, self.past.copy())
