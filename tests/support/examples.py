"""How many similar examples are tried: all in the nightly workflow, a part for each commit."""

import os
from collections.abc import Iterable
from typing import Any

import pytest


def examples(all_of_them: int) -> int:
    """Return the number of examples of a property: a commit draws a third."""
    return all_of_them if os.environ.get("SAMPLER_PARITY_NIGHTLY") else -(-all_of_them // 3)


def one_in(n: int, params: Iterable[Any]) -> list[Any]:
    """Return the params of a test; a commit runs every n-th, the night the others."""
    return [
        param if i % n == 0 else pytest.param(param, marks=pytest.mark.nightly)
        for i, param in enumerate(params)
    ]
