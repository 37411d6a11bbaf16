"""A chain as SGLang's SamplingParams.

SGLang has one order: penalties, bias, temperature, the filters, the draw. Top-k, top-p and min-p
use the same probabilities, so their order has no effect.
"""

from itertools import pairwise
from typing import Any

from sampler_parity.engines.sglang.engine import sglang
from sampler_parity.engines.shared.stage_parameters import biases, one_is_kept
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec

PENALTIES, BIAS, TEMPERATURE, FILTER, SELECT = range(5)
SLOTS = {
    "sglang_penalties": PENALTIES,
    "logit_bias": BIAS,
    "temp": TEMPERATURE,
    "top_k": FILTER,
    "top_p": FILTER,
    "min_p": FILTER,
    "dist": SELECT,
    "greedy": SELECT,
    "sglang_sample": SELECT,
}
RENAMED = {"temp": "temperature", "k": "top_k", "seed": "sampling_seed"}
LEFT_OUT = ("min_keep", "n_vocab", "stop_token_ids")


def parameters_of(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of SamplingParams for a stage. Raises Unsupported."""
    one_is_kept(given, "SGLang")
    if name == "dist":
        return {}
    if name == "greedy":
        return {"temperature": 0.0}
    if name == "logit_bias":
        return {"logit_bias": {str(token): of for token, of in biases(given, "SGLang").items()}}
    renamed = RENAMED | {"p": name}
    return {renamed.get(key, key): of for key, of in given.items() if key not in LEFT_OUT}


def sampling_params(chain: ChainSpec, n_vocab: int) -> Any:
    """Make SamplingParams of a chain. Raises Unsupported for a chain that SGLang lacks, InputError
    for one that it refuses."""
    stages = [(name, given) for stage in chain for name, given in stage.items()]
    names = [name for name, _ in stages]
    if any(name not in SLOTS for name in names):
        raise Unsupported("no sampler of SGLang")
    slots = [SLOTS[name] for name in names]
    if len(set(names)) < len(names) or any(left > right for left, right in pairwise(slots)):
        raise Unsupported("SGLang has one order, and each stage once")
    if slots.count(SELECT) > 1 or ("sglang_sample" in names and max([0, *slots[:-1]]) > BIAS):
        raise Unsupported("SGLang selects once, and sglang_sample has the filters")
    arguments: dict[str, Any] = {}
    for name, given in stages:
        more = parameters_of(name, given)
        if "temperature" in more and "temperature" in arguments:
            raise Unsupported("greedy is temperature 0 in SGLang, and takes no other")
        arguments |= more
    try:
        params = sglang().SamplingParams(**arguments)
        params.verify(n_vocab)
    except (ValueError, TypeError) as error:
        raise InputError("SGLang", str(error).splitlines()[0]) from None
    return params


def stop_tokens(chain: ChainSpec) -> set[int]:
    """Return the ids that min_new_tokens bans: those of the model and of the request."""
    of_penalties = [stage["sglang_penalties"] for stage in chain if "sglang_penalties" in stage]
    return {token for given in of_penalties for token in given.get("stop_token_ids", [])}
