"""A chain as vLLM's SamplingParams, for both of its model runners.

A runner has one order, that of its slots, and each stage once; a chain in another order is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sampler_parity.engines.shared.stage_parameters import ANY_SEED, biases, one_is_kept
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec


@dataclass(frozen=True)
class Runner:
    """slots: the place of each stage in the order. compiled: why the compiled kernel is refused."""

    name: str
    slots: dict[str, int]
    compiled: str


def parameters_of(name: str, given: dict[str, Any], runner: Runner) -> dict[str, Any]:
    """Return the arguments of SamplingParams for a stage. Raises Unsupported."""
    one_is_kept(given, "vLLM")
    if given.get("kernel", "torch") != "torch":
        raise Unsupported(runner.compiled)
    if name in ("dist", "vllm_sample", "vllm_gpu_sample"):
        return {"seed": None if given["seed"] == ANY_SEED else given["seed"]}
    if name == "greedy":
        return {"temperature": 0.0}
    if name == "logit_bias":
        return {"logit_bias": biases(given, "vLLM")}
    renamed = {"temp": "temperature", "k": "top_k", "p": "top_p" if name == "top_p" else "min_p"}
    left_out = ("min_keep", "kernel", "n_vocab")
    return {renamed.get(key, key): value for key, value in given.items() if key not in left_out}


def params_of(
    chain: ChainSpec, runner: Runner, make: Callable[..., Any], refused: type[Exception]
) -> Any:
    """Make SamplingParams of a chain. make: SamplingParams.from_optional. refused: vLLM's error.

    Raises Unsupported for a chain that the runner lacks, InputError for one that vLLM refuses.
    """
    stages = [(name, given) for stage in chain for name, given in stage.items()]
    slots = [runner.slots[name] for name, _ in stages]
    if any(left >= right for left, right in pairwise(slots)):
        raise Unsupported(f"{runner.name} has one order, and each stage once")
    arguments: dict[str, Any] = {}
    for name, given in stages:
        more = parameters_of(name, given, runner)
        if "temperature" in more and "temperature" in arguments:
            raise Unsupported("greedy is temperature 0 in vLLM, and takes no other")
        arguments |= more
    words = arguments.pop("bad_words_token_ids", None)
    stops = arguments.pop("stop_token_ids", [])
    try:
        params = make(**arguments)
    except (refused, ValueError, TypeError) as error:
        raise InputError("vLLM", str(error).splitlines()[0]) from None
    params._bad_words_token_ids = words  # would need texts and a tokenizer
    params._all_stop_token_ids = set(stops)
    return params
