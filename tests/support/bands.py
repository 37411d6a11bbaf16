"""Sizes at which buffers end: which of them a dimension of the cases lacks."""

from collections.abc import Iterable
from typing import Any

BANDS = [(0, 0), (1, 1), (2, 2), (31, 33), (63, 65), (127, 129), (255, 257), (1023, 1025)]


def missing_bands(values: Iterable[int], bands: Iterable[tuple[int, int]] = BANDS) -> list[Any]:
    there = set(values)
    return [band for band in bands if not there & set(range(band[0], band[1] + 1))]
