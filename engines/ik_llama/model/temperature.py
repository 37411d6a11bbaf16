"""llama_sample_temp and llama_sample_entropy of ik_llama.cpp.

    temp:      logit / temp, whatever temp is: at 0 infinities, NaN for 0; below 0 the order is
               reversed, but the candidates still count as sorted
    entropy:   temp = min_temp + (max_temp - min_temp) * (entropy / log n)^exponent, then a softmax
               in double. llama.cpp's temp_ext takes a middle and a range and ends at 0

Source: src/llama-sampling.cpp of ik_llama.cpp at 55d3c05.
Suite: engines/ik_llama/suites/ik_llama/ik_functions.toml
"""

from typing import Any

from sampler_parity.engines.ik_llama.model.array import softmax
from sampler_parity.engines.ik_llama.model.stateless import Stateless
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.samplers.temp_ext import warm_by_entropy


def divide(cand: Candidates, by: floats.Float) -> None:
    cand.logits = cand.logits / cand.logits.dtype.type(by)


def temp(temp: Any) -> Stateless:
    value = float32("temp", temp)
    return Stateless("ik_llama_temp", lambda cand: divide(cand, value))


def entropy(min_temp: Any, max_temp: Any, exponent: Any = 1.0) -> Stateless:
    lowest, highest = float32("min_temp", min_temp), float32("max_temp", max_temp)
    power = float32("exponent", exponent)

    def change(cand: Candidates) -> None:
        if len(cand) <= 1:
            return
        softmax(cand)
        kind = cand.logits.dtype.type
        warm_by_entropy(cand, kind(lowest), kind(highest), power, divide)

    return Stateless("ik_llama_entropy", change)
