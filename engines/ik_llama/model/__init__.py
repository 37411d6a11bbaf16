"""ik_llama.cpp, a fork of llama.cpp that keeps the samplers' older shape: C functions of candidates
and a context, without chains.

    array        sort and softmax          history      repetition penalties, dry
    filters      top_k ... top_n_sigma     draws        token, greedy, xtc, mirostat
    temperature  temp, entropy             adaptive_p   its own of that name
Suite: engines/ik_llama/suites/ik_llama/
"""

from collections.abc import Callable
from typing import Any

from sampler_parity.engines.ik_llama.model import draws, filters, temperature
from sampler_parity.engines.ik_llama.model.adaptive_p import IkAdaptiveP
from sampler_parity.engines.ik_llama.model.history import IkDry
from sampler_parity.engines.shared.repetition_penalties import RepetitionPenalties

STAGES: dict[str, Callable[..., Any]] = {
    "ik_llama_adaptive_p": IkAdaptiveP,
    "ik_llama_dry": IkDry,
    "ik_llama_entropy": temperature.entropy,
    "ik_llama_greedy": draws.greedy,
    "ik_llama_min_p": filters.min_p,
    "ik_llama_mirostat": draws.IkMirostat,
    "ik_llama_mirostat_v2": draws.IkMirostatV2,
    "ik_llama_repetition_penalties": RepetitionPenalties,
    "ik_llama_softmax": filters.softmax_alone,
    "ik_llama_tail_free": filters.tail_free,
    "ik_llama_temp": temperature.temp,
    "ik_llama_token": draws.Token,
    "ik_llama_top_k": filters.top_k,
    "ik_llama_top_n_sigma": filters.top_n_sigma,
    "ik_llama_top_p": filters.top_p,
    "ik_llama_typical": filters.typical,
    "ik_llama_xtc": draws.IkXtc,
}

__all__ = ["STAGES"]
