"""A chain as vLLM's SamplingParams, and the request that has them.

vLLM has one order, that of SLOTS, and each stage once; a chain in another order is refused.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

from sampler_parity.engines.vllm.arguments import Runner, params_of
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.messages import ChainSpec

ALLOWED, BAD_WORDS, MIN_TOKENS, BIAS, PENALTIES = range(5)
TEMPERATURE, MIN_P, TOP_K, TOP_P, SELECT, LOGPROBS = range(5, 11)
SLOTS = {
    "vllm_allowed_token_ids": ALLOWED,
    "vllm_bad_words": BAD_WORDS,
    "vllm_min_tokens": MIN_TOKENS,
    "logit_bias": BIAS,
    "vllm_penalties": PENALTIES,
    "vllm_temperature": TEMPERATURE,
    "temp": TEMPERATURE,
    "vllm_min_p": MIN_P,
    "min_p": MIN_P,
    "vllm_top_k": TOP_K,
    "top_k": TOP_K,
    "vllm_top_p": TOP_P,
    "top_p": TOP_P,
    "vllm_sample": SELECT,
    "dist": SELECT,
    "greedy": SELECT,
    "vllm_logprobs": LOGPROBS,
}
ROOM = 1 << 15  # tokens of a request
RUNNER = Runner("vLLM", SLOTS, "the compiled kernel needs a GPU")


def sampling_params(chain: ChainSpec) -> Any:
    """Return a chain as vLLM's SamplingParams. Raises Unsupported, InputError."""
    engine = vllm()
    return params_of(chain, RUNNER, engine.SamplingParams.from_optional, engine.Refused)


_numbers = count()


@dataclass
class Request:
    """state: vLLM's. slots: of the chain's stages. listed: which tokens are shown after a stage."""

    chain: ChainSpec
    state: Any
    slots: list[int]

    @classmethod
    def of(cls, chain: ChainSpec, prompt: list[int], output: list[int]) -> "Request":
        params = sampling_params(chain)
        generator = None
        if params.sampling_type.name == "RANDOM_SEED":
            generator = vllm().torch.Generator()
            generator.manual_seed(params.seed)
        if len(prompt) + len(output) > ROOM:
            raise InputError("history", f"longer than {ROOM} tokens")
        state = vllm().CachedRequestState(
            req_id=str(next(_numbers)),
            prompt_token_ids=list(prompt),
            mm_features=[],
            sampling_params=params,
            generator=generator,
            block_ids=([],),
            num_computed_tokens=0,
            output_token_ids=list(output),
        )
        return cls(chain, state, [SLOTS[name] for stage in chain for name in stage])

    @property
    def selects(self) -> bool:
        return SELECT in self.slots

    def copy(self) -> "Request":
        twin = Request.of(self.chain, self.state.prompt_token_ids, self.state.output_token_ids)
        if self.state.generator is not None:
            twin.state.generator.set_state(self.state.generator.get_state())
        return twin

    def accept(self, token: int) -> None:
        self.state.output_token_ids.append(token)

    def accept_prompt(self, token: int) -> None:
        self.state.prompt_token_ids.append(token)
        self.state.num_prompt_tokens += 1
