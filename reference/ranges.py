"""The ranges that parameters are drawn from, and how far a sampler counts, as plain data.

harness/checks/stages/blocks/fuzz_cases.py draws, harness/checks/stages/blocks/ladder.py counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Integers:
    low: int
    high: int


@dataclass(frozen=True)
class Floats:
    """Numbers that are float32 values."""

    low: float
    high: float


@dataclass(frozen=True)
class OneOf:
    """One of the values, or, as often, of the range."""

    values: tuple[Any, ...]
    or_from: Floats | None = None


@dataclass(frozen=True)
class Biases:
    """Up to at_most pairs of a token and a bias, -inf among the biases."""

    tokens: Integers
    biases: Floats
    at_most: int


Range = Integers | Floats | OneOf | Biases


@dataclass(frozen=True)
class Size:
    """How far a sampler counts something: to 2**top where it is used. setting: parameters with
    which the count shows in the result, laid over the smallest setting."""

    top: int
    setting: Mapping[str, Any] = field(default_factory=dict)
