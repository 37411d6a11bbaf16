"""A chain as vLLM's SamplingParams, in the one order of its second model runner: that of SLOTS."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.shared.stage_parameters import ANY_SEED, biases, one_is_kept
from sampler_parity.engines.vllm_gpu.package import vllm_gpu
from sampler_parity.harness.errors import InputError, Unsupported
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


def parameters_of(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of SamplingParams for a stage. Raises Unsupported."""
    one_is_kept(given, "vLLM")
    if given.get("kernel", "torch") != "torch":
        raise Unsupported("the compiled kernel is that of the first model runner")
    if name in ("dist", "vllm_gpu_sample"):
        return {"seed": None if given["seed"] == ANY_SEED else given["seed"]}
    if name == "greedy":
        return {"temperature": 0.0}
    if name == "logit_bias":
        return {"logit_bias": biases(given, "vLLM")}
    renamed = {"temp": "temperature", "k": "top_k", "p": "top_p" if name == "top_p" else "min_p"}
    left_out = ("min_keep", "kernel", "n_vocab")
    return {renamed.get(key, key): value for key, value in given.items() if key not in left_out}


def sampling_params(chain: ChainSpec) -> Any:
    """Make SamplingParams of a chain. Raises Unsupported for a chain that vLLM lacks, InputError
    for one that it refuses."""
    stages = [(name, given) for stage in chain for name, given in stage.items()]
    slots = [SLOTS[name] for name, _ in stages]
    if any(left >= right for left, right in pairwise(slots)):
        raise Unsupported("vLLM's second runner has one order, and each stage once")
    arguments: dict[str, Any] = {}
    for name, given in stages:
        more = parameters_of(name, given)
        if "temperature" in more and "temperature" in arguments:
            raise Unsupported("greedy is temperature 0 in vLLM, and takes no other")
        arguments |= more
    words = arguments.pop("bad_words_token_ids", None)
    stops = arguments.pop("stop_token_ids", [])
    engine = vllm_gpu()
    try:
        params = engine.sampling_params.SamplingParams.from_optional(**arguments)
    except (engine.exceptions.VLLMError, ValueError, TypeError) as error:
        raise InputError("vLLM", str(error).splitlines()[0]) from None
    params._bad_words_token_ids = words  # would need texts and a tokenizer
    params._all_stop_token_ids = set(stops)
    return params


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

    def copy(self) -> "Request":
        return Request(self.chain, self.params, self.slots, self.past.copy())
