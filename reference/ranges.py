"""What a parameter may be drawn from, as plain data: harness/suite/blocks/fuzz_cases.py draws."""

from dataclasses import dataclass
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
