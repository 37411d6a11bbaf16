"""List the parameters whose every token is predicted, by the name of a chain.

A chain is asked with several prompts and seeds (`requests`). Each is near the documented defaults,
so that what it adds decides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LENGTH = 16
_ORDER = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"]
_LIST = 'root ::= "[" item ("," item)* "]"\nitem ::= "\\"" [a-z]+ "\\"" | [0-9]+'
_OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}

CHAINS: dict[str, dict[str, Any]] = {
    "default": {},
    "hot": {"temperature": 1.5},
    "greedy": {"temperature": 0.0},
    "below-zero": {"temperature": -1.0},
    "neutral": {**_OFF, "temperature": 1.0},
    "top-k-1": {"top_k": 1},
    "top-k-3": {"top_k": 3, "temperature": 2.0},
    "top-k-all": {"top_k": 100_000, "temperature": 1.5},
    "top-p": {**_OFF, "top_p": 0.5, "temperature": 1.5},
    "top-p-low": {**_OFF, "top_p": 0.01},
    "top-p-keep": {**_OFF, "top_p": 0.1, "min_keep": 5, "temperature": 2.0},
    "min-p": {**_OFF, "min_p": 0.2, "temperature": 1.5},
    "min-p-one": {**_OFF, "min_p": 1.0},
    "typical-p": {**_OFF, "typical_p": 0.5},
    "typical-p-keep": {**_OFF, "typical_p": 0.1, "min_keep": 3},
    "top-n-sigma": {**_OFF, "top_n_sigma": 1.0, "temperature": 2.0},
    "xtc": {**_OFF, "xtc_probability": 0.5, "xtc_threshold": 0.05},
    "xtc-always": {"xtc_probability": 1.0, "xtc_threshold": 0.1},
    "xtc-keep": {"xtc_probability": 1.0, "xtc_threshold": 0.02, "min_keep": 3},
    "dynatemp": {"dynatemp_range": 0.7, "dynatemp_exponent": 2.0},
    "dynatemp-wide": {**_OFF, "temperature": 1.0, "dynatemp_range": 1.0},
    "repeat": {"repeat_penalty": 1.3},
    "repeat-short": {"repeat_penalty": 1.8, "repeat_last_n": 4},
    "repeat-all": {"repeat_penalty": 1.2, "repeat_last_n": 1000},
    "repeat-none": {"repeat_penalty": 1.8, "repeat_last_n": 0},
    "repeat-less": {"repeat_penalty": 0.7},
    "frequency": {"frequency_penalty": 0.8},
    "presence": {"presence_penalty": 1.5},
    "penalties": {"repeat_penalty": 1.1, "frequency_penalty": 0.3, "presence_penalty": 0.2},
    "penalties-negative": {"frequency_penalty": -0.5, "presence_penalty": -0.5},
    "penalties-greedy": {"temperature": 0.0, "repeat_penalty": 1.5, "frequency_penalty": 0.5},
    "dry": {"dry_multiplier": 0.8},
    "dry-short": {"dry_multiplier": 1.5, "dry_base": 2.5, "dry_allowed_length": 1},
    "dry-breakers": {"dry_multiplier": 2.0, "dry_sequence_breakers": [" ", "e", "the"]},
    "dry-window": {"dry_multiplier": 2.0, "dry_penalty_last_n": 8, "dry_allowed_length": 1},
    "dry-greedy": {"temperature": 0.0, "dry_multiplier": 5.0, "dry_allowed_length": 1},
    "mirostat": {"mirostat": 1, "mirostat_tau": 4.0},
    "mirostat-eta": {"mirostat": 1, "mirostat_tau": 2.0, "mirostat_eta": 0.5},
    "mirostat-v2": {"mirostat": 2},
    "mirostat-v2-low": {"mirostat": 2, "mirostat_tau": 1.0, "mirostat_eta": 0.3},
    "adaptive-p": {"samplers": ["min_p", "adaptive_p"], "adaptive_target": 0.3},
    "adaptive-p-decay": {
        "samplers": ["top_k", "adaptive_p"],
        "adaptive_target": 0.6,
        "adaptive_decay": 0.5,
    },
    "logit-bias": {"logit_bias": [[300, 3.0], [258, -2.0], [13, 1.5]]},
    "logit-ban": {"logit_bias": [[258, False], [13, False], [12, False], [281, False]]},
    "logit-bias-greedy": {"temperature": 0.0, "logit_bias": [[258, -5.0], [308, 4.0]]},
    "ignore-eos": {"ignore_eos": True, "logit_bias": [[4091, 8.0]]},
    "eos": {"logit_bias": [[4091, 5.0]]},
    "order-reversed": {"samplers": ["temperature", *_ORDER[::-1]], "temperature": 1.3},
    "order-temperature-first": {"samplers": ["temperature", *_ORDER], "temperature": 1.3},
    "order-few": {"samplers": ["top_k", "temperature"], "top_k": 8, "temperature": 1.2},
    "order-none": {"samplers": []},
    "order-twice": {"samplers": ["top_k", "temperature", "top_k", "temperature"], "top_k": 9},
    "order-penalties-last": {
        "samplers": ["top_k", "top_p", "temperature", "penalties"],
        "repeat_penalty": 1.4,
        "frequency_penalty": 0.4,
    },
    "everything": {
        "repeat_penalty": 1.1,
        "dry_multiplier": 0.5,
        "top_n_sigma": 2.0,
        "top_k": 60,
        "typical_p": 0.9,
        "top_p": 0.9,
        "min_p": 0.02,
        "xtc_probability": 0.3,
        "dynatemp_range": 0.3,
        "temperature": 1.1,
        "logit_bias": [[300, 1.0]],
    },
    "n-predict-1": {"n_predict": 1},
    "stop": {"stop": ["e", "\n"], "n_predict": 24},
    "stop-long": {"stop": ["the ", " of", '":', "self"], "temperature": 0.0, "n_predict": 24},
    "grammar": {"grammar": _LIST},
    "grammar-hot": {"grammar": _LIST, **_OFF, "temperature": 1.5},
    "grammar-penalties": {"grammar": _LIST, "repeat_penalty": 1.3, "dry_multiplier": 0.8},
    # with default, greedy and mirostat-v2 the chains of suites/generate
    "generate-mirostat": {"mirostat": 1},
    "generate-adaptive-p": {
        "samplers": ["top_k", "min_p", "adaptive_p"],
        "min_p": 0.02,
        "adaptive_target": 0.4,
    },
    "generate-dry-penalties-xtc": {
        "samplers": ["penalties", "dry", "top_p", "xtc"],
        "repeat_penalty": 1.1,
        "frequency_penalty": 0.1,
        "presence_penalty": 0.1,
        "dry_multiplier": 0.8,
        "top_p": 0.98,
        "xtc_probability": 0.5,
        "xtc_threshold": 0.05,
    },
}

# llama-cpp-python's server: a temperature of 0 is greedy, and repeat_penalty is 1.1 unless stated.
_PLAIN = {"repeat_penalty": 1.0}
OF_LLAMA_CPP_PYTHON: dict[str, dict[str, Any]] = {
    "default": {**_PLAIN},
    "hot": {**_PLAIN, "temperature": 1.5},
    "greedy": {**_PLAIN, "temperature": 0.0},
    "below-zero": {**_PLAIN, "temperature": -1.0},
    "neutral": {**_PLAIN, **_OFF, "temperature": 1.0},
    "top-k": {**_PLAIN, "top_k": 3, "temperature": 2.0},
    "top-p": {**_PLAIN, **_OFF, "top_p": 0.5, "temperature": 1.5},
    "min-p": {**_PLAIN, **_OFF, "min_p": 0.2, "temperature": 1.5},
    "repeat": {"repeat_penalty": 1.3},
    "repeat-less": {"repeat_penalty": 0.7},
    "frequency": {**_PLAIN, "frequency_penalty": 0.8},
    "presence": {**_PLAIN, "presence_penalty": 1.5},
    "penalties-greedy": {"temperature": 0.0, "repeat_penalty": 1.5, "frequency_penalty": 0.5},
    "mirostat": {**_PLAIN, "mirostat_mode": 1, "mirostat_tau": 4.0},
    "mirostat-v2": {**_PLAIN, "mirostat_mode": 2},
    "logit-bias": {**_PLAIN, "logit_bias": {"300": 3.0, "258": -2.0, "13": 1.5}},
    "eos": {**_PLAIN, "logit_bias": {"4091": 5.0}},
    "stop": {**_PLAIN, "stop": ["e", "\n"]},
}


@dataclass(frozen=True)
class ChainRequest:
    """Hold a request. parameters: as sent, besides the prompt."""

    id: str
    chain: str
    prompt: list[int]
    parameters: Mapping[str, Any]


def requests(
    each: int,
    length: str,
    chains: Mapping[str, Mapping[str, Any]],
    by_name: Mapping[str, list[int]],
) -> Iterator[ChainRequest]:
    """Return so many of each chain, with prompts in turn. length: the name of that parameter."""
    prompts = [*by_name.items()]
    for number, (chain, parameters) in enumerate(chains.items()):
        for i in range(each):
            name, prompt = prompts[(number * each + i) * 7 % len(prompts)]
            whole = {length: LENGTH, **parameters, "seed": 1000 * number + i}
            yield ChainRequest(f"{chain}/{name}.{i}", chain, prompt, whole)
