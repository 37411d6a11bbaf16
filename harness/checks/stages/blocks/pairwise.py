"""Pairwise: every two parameters meet in every pair of their classes.

A fault that needs one value is found by a list of edges, and one that needs two by chance. A
[[pairwise]] block gives each parameter a few classes: a negative value, 0, 1, one in use, one
beyond the documented range, and those that another integer type makes another value of. A covering
array of strength 2 needs about as many chains as the two largest parameters have pairs.
"""

import functools
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest, refuse_unknown
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.reference.registry import ROWS

_BEYOND_16 = 2**16 + 1  # 1 in 16 bits
_PENALTY = (-0.5, 0.0, 0.3, 1.0)
_SIZE_OF_32_BITS = ("llama.cpp@wasm", "llama.cpp@portable-wasm")  # their size_t
CLASSES: dict[str, tuple[Any, ...]] = {
    "seed": (7, 7 + 2**16, 7 + 2**31, 0, 2**16 - 1, 2**31 - 1, 2**32 - 2),
    "k": (-(2**31), -1, 0, 1, 40, _BEYOND_16, 2**31 - 1),
    "p": (-0.5, 0.0, 0.3, 0.95, 1.0, 1.5),
    "min_keep": (0, 1, 3, _BEYOND_16, 2**31, 2**32 + 1),
    "t": (-0.5, 0.0, 0.01, 0.3, 0.5, 1.0),
    "temp": (-1.0, 0.0, 0.5, 1.0, 12.0, 65537.0),
    "delta": (-1.0, 0.0, 0.5, 1.0, 12.0),
    "exponent": (-1.0, 0.0, 0.5, 1.0, 12.0),
    "n": (-1.0, 0.0, 0.5, 1.0, 5.0, 12.0, 65537.0),
    "tau": (-1.0, 0.0, 1.0, 5.0, 20.0, 65537.0),
    "eta": (-0.5, 0.0, 0.1, 1.0, 12.0),
    "m": (-1, 0, 1, 2, 100, _BEYOND_16, 2**31 - 1),
    "penalty_last_n": (-(2**31), -1, 0, 1, 4, _BEYOND_16),
    "penalty_repeat": (0.5, 1.0, 1.3, 65537.0),
    "penalty_freq": _PENALTY,
    "penalty_present": _PENALTY,
    "dry_multiplier": (-0.5, 0.0, 0.8, 1.0),
    "dry_base": (-1.0, 0.0, 1.0, 1.75, 12.0),
    "dry_allowed_length": (-1, 0, 1, 2, _BEYOND_16, 2**31 - 1),
    "dry_penalty_last_n": (-(2**31), -1, 0, 4, _BEYOND_16),
    "logit_bias": (
        *([], [[0, 2.5], [5, -np.inf]], [[_BEYOND_16, 3.0], [2**31 - 1, 3.0], [-1, 3.0]]),
        *(  # +-1 to 10,000, +-3 to 30,000
            [[token, size * (-10.0) ** (token // 2) * (-1) ** token] for token in range(10)]
            for size in (1, 3)
        ),
    ),
    "target": (-0.5, 0.0, 0.4, 1.0, 1.5),
    "decay": (-0.5, 0.0, 0.5, 1.0, 1.5),
}
LEFT_OUT = {
    ("penalty_last_n", 2**31 - 1): "llama.cpp reserves 8 GB for the window",
    ("dry_penalty_last_n", 2**31 - 1): "llama.cpp reserves 16 GB for the window",
    ("dry_allowed_length", -(2**31)): "the difference of two int32 overflows",
    ("m", -(2**31)): "m - 1 overflows",
    ("penalty_repeat", 0.0): "refused: a logit divided by 0",
    ("penalty_repeat", -1.0): "refused: a penalty that turns the sign of a logit",
    ("seed", 2**32 - 1): "takes a random seed: suites/parity/unseeded.toml",
}


def parameters(name: str) -> list[str]:
    """Return the parameters of a sampler that have classes; none if it is in no random chain."""
    return list(ROWS[name].edges or {})


CLASSED = [name for name in of_newest() if parameters(name)]

_N = 150
_SIGMAS = (5.0, 11.0)  # below the largest: between the classes of n
_STEPS = 8


class Pairwise(NamedBlock):
    """Chains of one sampler or two whose parameters meet in every pair of classes."""

    neighbours: bool = False
    """instead of each sampler alone: two samplers, in both orders; one that selects comes last"""
    quick_order: list[str] = []
    """with `neighbours`, in the quick profile: only neighbours in this chain"""

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the cases. Raises ValueError for an unknown sampler."""
        for name in self.quick_order:
            refuse_unknown(name)
        for names in self._chains(quick):
            columns = [(i, key) for i, name in enumerate(names) for key in parameters(name)]
            for number, row in enumerate(covering([len(CLASSES[key]) for _, key in columns])):
                chain: list[dict[str, dict[str, Any]]] = [{name: {}} for name in names]
                for (i, key), value in zip(columns, row, strict=True):
                    chain[i][names[i]][key] = CLASSES[key][value]
                yield self._case(f"{'+'.join(names)}/{number}", chain, names[-1])

    def _chains(self, quick: bool) -> Iterator[tuple[str, ...]]:
        if not self.neighbours:
            yield from ((name,) for name in CLASSED)
        elif quick:
            yield from pairwise(self.quick_order)
        else:
            firsts = [name for name in CLASSED if ROWS[name].kind != "select"]
            yield from ((a, b) for a in firsts for b in CLASSED if a != b)

    def _case(self, end: str, chain: list[dict[str, dict[str, Any]]], last: str) -> Case:
        if ROWS[last].kind != "select":
            chain = [*chain, {"dist": {"seed": 5}} if self.neighbours else {"greedy": {}}]
        fits = all(p.get("min_keep", 0) < 1 << 32 for stage in chain for p in stage.values())
        return case_from(
            self.about(end),
            chain=chain,
            logits=rows(),
            history=[3, 5, 3, 5, 7, 3, 5],
            steps=_STEPS,
            tags=["noop"],
            requires={} if fits else {name: ["unsupported"] for name in _SIZE_OF_32_BITS},
        )


@functools.cache
def _covering(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    prime = next(p for p in (2, 3, 5, 7, 11, 13) if p >= max(*sizes, len(sizes) - 1, 2))
    uncovered = {
        (i, j, a, b)
        for i, j in combinations_with_replacement(range(len(sizes)), 2)
        for a in range(sizes[i])
        for b in range(sizes[j])
        if i != j or a == b
    }
    array = []
    for x in range(prime):
        for y in range(prime):
            lines = [x, *((y + slope * x) % prime for slope in range(len(sizes) - 1))]
            array.append(tuple(value % size for value, size in zip(lines, sizes, strict=True)))
    chosen: list[tuple[int, ...]] = []
    while uncovered:
        best = max(array, key=lambda row: len(uncovered & _pairs(row)))
        chosen.append(best)
        uncovered -= _pairs(best)
    return chosen


@functools.cache
def _pairs(row: tuple[int, ...]) -> frozenset[tuple[int, int, int, int]]:
    columns = combinations_with_replacement(range(len(row)), 2)
    return frozenset((i, j, row[i], row[j]) for i, j in columns)


def covering(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return rows of values in which any two columns show every pair of their values.

    Over a prime field, two lines of different slopes meet in one point, so such columns have each
    pair once. Columns with fewer values take them in turn; rows that add nothing are left out.
    """
    return _covering(tuple(sizes))


@functools.cache
def rows() -> LiteralRows:
    """Return rows on which parameters show: probable and nearly equal tokens, ties, one token that
    has nearly all, and outliers at a known number of standard deviations."""
    rng = np.random.default_rng(1)
    normal = rng.normal(0, 1.5, _N)
    flat = rng.permutation(np.arange(_N)) * 0.002
    ties = np.round(rng.normal(0, 2, _N) * 2) / 2
    outliers = rng.normal(0, 0.01, _N)
    outliers[[20, 30]] = -np.array(_SIGMAS)
    likely = normal.copy()
    likely[3] += 12
    samples = [normal, flat, outliers, ties, likely, flat[::-1]]
    return LiteralRows(rows=[row.astype(np.float32).tolist() for row in samples])
