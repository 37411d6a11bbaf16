"""Checks of sampler parameters: each returns the value as C would hold it, or raises ChainError.

Booleans are no numbers here, and a float is no integer even where it has no fraction: a parameter
of the wrong type is a mistake in the specification, not something to convert.
"""

import math
from typing import Any

import numpy as np

from sampler_parity.reference.errors import ChainError


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return an integer in low..high."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ChainError(f"{name} must be an integer, got {value!r}")
    if not low <= value <= high:
        raise ChainError(f"{name} must be in {low}..{high}, got {value}")
    return int(value)


def int32(name: str, value: Any) -> int:
    return integer(name, value, -(2**31), 2**31 - 1)


def uint32(name: str, value: Any) -> int:
    return integer(name, value, 0, 2**32 - 1)


def size(name: str, value: Any) -> int:
    """Return a C size_t that is used as a count."""
    return integer(name, value, 0, 2**63 - 1)


def float32(name: str, value: Any) -> np.float32:
    """Return a finite number that fits a C float, rounded to it."""
    number = bias(name, value)
    if not np.isfinite(number):
        raise ChainError(f"{name} must be a finite float32, got {value!r}")
    return number


def bias(name: str, value: Any) -> np.float32:
    """Return a float32 that may be infinite (a ban or a push), but not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ChainError(f"{name} must be a number, got {value!r}")
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if np.isnan(number):
        raise ChainError(f"{name} must not be NaN")
    return number


def token_ids(name: str, value: Any, n_vocab: int) -> list[int]:
    """Return token ids of a vocabulary of n_vocab tokens."""
    if not isinstance(value, list | tuple):
        raise ChainError(f"{name} must be a list of token ids, got {value!r}")
    return [integer(name, token, 0, n_vocab - 1) for token in value]


def token_sequences(name: str, value: Any, n_vocab: int) -> list[list[int]]:
    """Return lists of one or more token ids of a vocabulary of n_vocab tokens."""
    if not isinstance(value, list | tuple):
        raise ChainError(f"{name} must be a list of lists of token ids, got {value!r}")
    sequences = [token_ids(name, sequence, n_vocab) for sequence in value]
    if not all(sequences):
        raise ChainError(f"{name} has an empty list")
    return sequences


def real(name: str, value: Any) -> float:
    """Return a finite number as Python holds it, for engines written in Python."""
    bias(name, value)
    if not math.isfinite(value):
        raise ChainError(f"{name} must be finite, got {value!r}")
    return float(value)
