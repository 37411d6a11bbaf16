"""Make the cases of a fuzz campaign, chunk after chunk, each from its seed and its number.

Eight kinds take turns. Hypothesis' cases (fuzz_cases.py); chains of samplers at and around the
edges of their parameters (random_chains.py) over long state scripts; hostile logits; large
vocabularies; samplers that read a vocabulary's pieces: infill and dry's breakers
(random_breakers.py). Three more take what the quick profile leaves of scripts, outcomes and pairs.
Twice as many cheap cases are drawn, and those with new outcome classes are taken first."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.fuzz_cases import make
from sampler_parity.harness.checks.stages.blocks.matrix import GeneratedHistory
from sampler_parity.harness.checks.stages.blocks.outcomes import ChosenOutcomes
from sampler_parity.harness.checks.stages.blocks.pairwise import CLASSED, Pairwise
from sampler_parity.harness.checks.stages.blocks.random_breakers import RandomBreakers
from sampler_parity.harness.checks.stages.blocks.random_chains import RandomChains
from sampler_parity.harness.checks.stages.operations import exhaustive
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.reference import floats
from sampler_parity.reference.registry import ROWS

_BLOCKS = (128, 256, 1024)
_GAPS = (20.0, 87.3, 103.3)  # nats: p is small, subnormal, 0


@floats.quiet
def classes_of(case: Case) -> set[str]:
    """Return the classes of a case on its first row, as the reference samples it."""
    if not isinstance(case, StagesCase):
        return set()
    alone = {"steps": 1, "script": "plain", "operations": [], "detail": "stages"}
    prepared = prepare(case.model_copy(update=alone))
    letters = {letter for script in case.operations for letter in script if letter.isalpha()}
    classes = {f"script {''.join(sorted(letters)) or case.script}"}
    before = _possible(prepared.rows[0])
    for step in reference_trace(prepared)[0]:
        for name, candidates in zip(case.samplers, step, strict=True):
            after = _possible(candidates.logits)
            classes |= {f"{name} {fact}" for fact in _facts(before, after)}
            before = after
    return classes


def _possible(logits: NDArray[Any]) -> NDArray[Any]:
    return np.sort(logits[logits > -np.inf])


def _facts(before: NDArray[Any], after: NDArray[Any]) -> Iterator[str]:
    n = len(after)
    yield f"survivors<{1 << n.bit_length()}"
    yield f"gap{bisect_right(_GAPS, float((after[1:] - after[:-1]).max(initial=0)))}"
    if 0 < n < len(before):
        if n in _BLOCKS:
            yield f"cut at {n}"
        if before[-n] == before[-n - 1]:
            yield "tie at the cut"


ABOUT: dict[str, Any] = {
    "description": "made by a fuzz campaign",
    "why": "a combination that nobody thought of",
}
LARGE = [65_535, 65_536, 65_537, 128_256, 151_936, 262_143, 262_144]

# Long scripts have most steps, because state is kept between steps. A case of Hypothesis takes
# 0.1 s to make, so they are rare.
_SELDOM = ("large", "pieces", "hypothesis")
_SELECTED = ("outcomes", "pairs", "scripts")
_TURN = ("state", "hostile", "state", *("state", "state", "hostile") * 3, *_SELDOM, *_SELECTED)


def chunk(
    seed: int, number: int, previous: Set[str] = frozenset()
) -> tuple[dict[str, Case], dict[str, set[str]]]:
    """Return the cases of one chunk by id, those with new classes first, and the classes of each.
    An id is KIND/SEED-CHUNK/...

    seen: outcome classes (coverage.py) that the campaign has had.
    """
    start = int(np.random.default_rng([seed, number]).integers(2**31))
    kind = _TURN[number % len(_TURN)]
    cases = _KINDS[kind](f"{kind}/{seed}-{number}", start)
    if kind not in _SELDOM:
        cases += _KINDS[kind](f"{kind}/{seed}-{number}/more", start + 1)
    classes = {case.id: classes_of(case) for case in cases}
    if kind not in _SELDOM:
        cases.sort(key=lambda case: -len(classes[case.id] - previous))
        del cases[len(cases) // 2 :]
    return {case.id: case for case in cases}, classes


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
    with_breakers = breakers.items(quick=False, shift=0)
    return [
        *chains,
        *(case.model_copy(update={"id": f"{name}/{case.id}"}) for case in with_breakers),
    ]


def _outcomes(name: str, start: int) -> list[Case]:
    survivors = np.random.default_rng(start).integers(1, 1030, 2).tolist()
    pool = ChosenOutcomes(id="a", survivors=survivors, **ABOUT).items(quick=False)
    return [case.model_copy(update={"id": f"{name}/{case.id}"}) for case in pool]


def _pairs(name: str, start: int) -> list[Case]:
    """Return every fourth case of two samplers in a row, on hostile logits."""
    rng = np.random.default_rng(start)
    first = rng.choice([name for name in CLASSED if ROWS[name].kind != "select"])
    order = [str(first), str(rng.choice(CLASSED))]
    pool = list(Pairwise(id="a", neighbours=True, quick_order=order, **ABOUT).items(quick=True))
    return [
        case.model_copy(update={"id": f"{name}/{case.id}", "logits": _rows(rng, case.logits.n)})
        for case in pool[start % 4 :: 4]
    ]


def _scripts(name: str, start: int) -> list[Case]:
    rng, scripts = np.random.default_rng(start), exhaustive(5)
    changed: dict[str, Any] = {"script": "plain", "steps": 3}
    return [
        case.model_copy(update=changed | {"operations": rng.choice(scripts, 12).tolist()})
        for case in _chains(name, start, count=4, sizes=[5, 12], max_steps=1)
    ]


_KINDS: dict[str, Callable[[str, int], list[Case]]] = {
    "state": _state,
    "hostile": _hostile,
    "hypothesis": _hypothesis,
    "large": _large,
    "pieces": _pieces,
    "outcomes": _outcomes,
    "pairs": _pairs,
    "scripts": _scripts,
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
