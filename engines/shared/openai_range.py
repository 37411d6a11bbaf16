"""The range of OpenAI's two penalties, which vLLM and SGLang take over."""

from typing import Any

import numpy as np

from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32

LARGEST = 2.0


def penalty_in_range(name: str, value: Any) -> np.float32:
    number = float32(name, value)
    if not -LARGEST <= number <= LARGEST:
        raise ChainError(f"{name} must be in -2..2, got {value!r}")
    return number
