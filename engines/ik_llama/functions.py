"""The function of ik_llama.cpp for each stage, and its arguments.

ik_llama_NAME is llama_sample_NAME, or llama_sample_token_NAME if it selects, with the parameters of
C. The samplers of llama.cpp under their own names are mapped to those.
"""

from ctypes import c_float, c_int32, c_size_t
from typing import Any

import numpy as np

from sampler_parity.harness.errors import Unsupported

Kinds = dict[str, Any]

# name -> the parameters that llama_sample_NAME takes by value
CHANGES: dict[str, Kinds] = {
    "softmax": {},
    "top_k": {"k": c_int32, "min_keep": c_size_t},
    "top_p": {"p": c_float, "min_keep": c_size_t},
    "min_p": {"p": c_float, "min_keep": c_size_t},
    "tail_free": {"z": c_float, "min_keep": c_size_t},
    "typical": {"p": c_float, "min_keep": c_size_t},
    "top_n_sigma": {"n": c_float},
    "temp": {"temp": c_float},
    "entropy": {"min_temp": c_float, "max_temp": c_float, "exponent": c_float},
    "xtc": {"p": c_float, "t": c_float, "min_keep": c_size_t},
}
# name -> llama_sample_..., and the same
SELECTS: dict[str, tuple[str, Kinds]] = {
    "greedy": ("token_greedy", {}),
    "token": ("token", {}),
    "mirostat": ("token_mirostat", {"tau": c_float, "eta": c_float, "m": c_int32}),
    "mirostat_v2": ("token_mirostat_v2", {"tau": c_float, "eta": c_float}),
}
_OF_STATE = ("repetition_penalties", "dry", "adaptive_p")
OWN = [f"ik_llama_{name}" for name in (*CHANGES, *SELECTS, *_OF_STATE)]

# of llama.cpp -> its function here
_SAME = {"dist": "token", "typical_p": "typical", "penalties": "repetition_penalties"}
LLAMA_CPP = ["greedy", "dist", "top_k", "top_p", "min_p", "typical_p", "temp", "temp_ext", "xtc"]
LLAMA_CPP += ["top_n_sigma", "mirostat", "mirostat_v2", "penalties", "dry", "adaptive_p"]
LLAMA_CPP += ["softmax", "tail_free"]


def own_stage(name: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a stage without its prefix, and its parameters. Raises Unsupported."""
    if name.startswith("ik_llama_"):
        return name.removeprefix("ik_llama_"), parameters
    if name not in LLAMA_CPP:
        raise Unsupported(f"ik_llama.cpp has no function for {name}")
    if name == "temp_ext":
        return _of_temp_ext(**{key: float(np.float32(parameters[key])) for key in parameters})
    minimum = {"min_keep": 0} if name == "top_k" else {}
    return _SAME.get(name, name), parameters | minimum


def _of_temp_ext(temp: float, delta: float, exponent: float) -> tuple[str, dict[str, Any]]:
    """Choose as common_sampler does: entropy if there is a range, else temp."""
    if delta <= 0:
        return "temp", {"temp": temp}
    bounds = {"min_temp": max(0.0, temp - delta), "max_temp": max(0.0, temp + delta)}
    return "entropy", bounds | {"exponent": exponent}
