"""Make the cases of a fuzz campaign, chunk after chunk, each from its seed and its number alone.

Five kinds take turns. Hypothesis' cases (fuzz_cases.py); chains of samplers at and around the edges
of their parameters (random_chains.py) over long state scripts; hostile logits; large vocabularies;
and samplers that read a vocabulary's pieces: infill and dry's breakers (random_breakers.py).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.blocks.fuzz_cases import make
from sampler_parity.harness.checks.stages.blocks.matrix import GeneratedHistory
from sampler_parity.harness.checks.stages.blocks.random_breakers import RandomBreakers
from sampler_parity.harness.checks.stages.blocks.random_chains import RandomChains
from sampler_parity.harness.inputs.logits import LiteralRows

ABOUT: dict[str, Any] = {
    "description": "made by a fuzz campaign",
    "why": "a combination that nobody thought of",
}
LARGE = [65_535, 65_536, 65_537, 128_256, 151_936, 262_143, 262_144]

# Long scripts have most steps, because state is kept between steps. A case of Hypothesis takes
# 0.1 s to make, so they are rare.
_SELDOM = ("large", "pieces", "hypothesis")
_TURN = ("state", "hostile", "state", *("state", "state", "hostile") * 3, *_SELDOM)


def chunk(seed: int, number: int) -> list[Case]:
    """Return the cases of one chunk, named KIND/SEED-CHUNK/..."""
    start = int(np.random.default_rng([seed, number]).integers(2**31))
    kind = _TURN[number % len(_TURN)]
    return _KINDS[kind](f"{kind}/{seed}-{number}", start)


def _hypothesis(name: str, start: int) -> list[Case]:
    return make(ABOUT | {"id": name}, 12, start, "a")


def _state(name: str, start: int) -> list[Case]:
    return list(_chains(name, start, count=8, sizes=[1, 2, 5, 17, 33], max_steps=320))


def _hostile(name: str, start: int) -> list[Case]:
    rng = np.random.default_rng(start)
    return [
        case.model_copy(update={"logits": _rows(rng, case.logits.n)})
        for case in _chains(name, start, count=16, sizes=[2, 5, 24, 130], max_steps=40)
    ]


def _large(name: str, start: int) -> list[Case]:
    return list(_chains(name, start, count=2, sizes=LARGE, max_steps=3))


def _pieces(name: str, start: int) -> list[Case]:
    vocabulary: dict[str, Any] = {"vocab": "bpe", "sizes": [128, 303]}
    chains = _chains(name, start, count=6, max_steps=40, **vocabulary)
    breakers = RandomBreakers(id="a", count=6, seed=start, vocabs=["bpe", "spm"], **ABOUT)
    others = breakers.items(quick=False, shift=0)
    return [*chains, *(case.model_copy(update={"id": f"{name}/{case.id}"}) for case in others)]


_KINDS: dict[str, Callable[[str, int], list[Case]]] = {
    "state": _state,
    "hostile": _hostile,
    "hypothesis": _hypothesis,
    "large": _large,
    "pieces": _pieces,
}


def _chains(name: str, start: int, **shape: Any) -> list[Case]:
    """Return random chains. Every other one compares tokens alone, several times as fast: an
    earlier difference in the state shows in a later token."""
    block = RandomChains(
        id="a",
        seed=start,
        max_stages=6,
        families=["normal", "ties", "masked", "wide", "huge", "tiny", "flat", "peaked", "equal"],
        scripts=["plain", "reset", "clone", "interleaved", "turns"],
        history=GeneratedHistory(length=40, alphabet=12),
        **ABOUT,
        **shape,
    )
    return [
        case.model_copy(update={"id": f"{name}/{i}", "detail": ("stages", "token")[i % 2]})
        for i, case in enumerate(block.items(quick=False, shift=0))
    ]


_DENORMAL = [1e-40, -1e-40, 1.4e-45, 0.0, -0.0]
_UP = np.float32(np.inf)
_EXTREME = [3.4e38, -3.4e38, 1e30, -1e30, 88.0, -104.0]


def _rows(rng: np.random.Generator, n: int) -> LiteralRows:
    """Return up to six rows, each with a stretch of -inf, ties, denormals, extremes or NaN."""
    rows = []
    for _ in range(int(rng.integers(1, 7))):
        row = rng.normal(0, 3, n).astype(np.float32)
        for _ in range(int(rng.integers(1, 4))):
            first = int(rng.integers(n))
            part = slice(first, first + int(rng.integers(1, n + 1)))
            length = len(row[part])
            # NaN is rare: llama.cpp and the reference refuse to sort it
            row[part] = [
                np.full(length, -np.inf),
                np.full(length, row[first]),
                rng.choice(_DENORMAL, length),
                rng.choice(_EXTREME, length),
                np.full(length, np.nan) if rng.random() < 0.1 else np.nextafter(row[part], _UP),
            ][int(rng.integers(5))]
        rows.append([float(value) for value in row])
    return LiteralRows(rows=rows)
