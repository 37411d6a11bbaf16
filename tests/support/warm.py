"""Numba with compiled samplers, for the server that workers are copies of.

A copy that has neither loads them for about half a second before its first case.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.chain import build_chain
from sampler_parity.reference.compiled import load_numba

load_numba()
_ROW = np.linspace(-1, 1, 300, dtype=np.float32)
_CHAIN: list[dict[str, dict[str, Any]]] = [
    {"top_k": {"k": 40}},
    {"top_p": {"p": 0.9}},
    {"temp": {"temp": 0.8}},
    {"dist": {"seed": 1}},
]
build_chain(_CHAIN).apply(Candidates.from_logits(_ROW))
