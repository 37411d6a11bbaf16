"""Cases that distinguish builds of one source for several platforms, and the results of a worker.

Each family reaches one thing that depends on the platform and not on llama.cpp. These are: the
order of equals after a sort, one rounding or two for a product and a sum, a float that no int
holds, a draw of one weight, the C library. `recorded()` has the results of real builds
(studies/platforms.py).
"""

import functools
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.llama_cpp.platforms import runners
from sampler_parity.harness.llama_cpp.platforms.worker import Worker
from sampler_parity.harness.llama_cpp.recorded import find

DEFAULT = "linux-x64-gcc"  # the others' results are listed only if they differ from it
FILE = Path(__file__).parent / "platform_results.json"
Chain = list[dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Case:
    """rows: of logits, one a step; the token that is selected is accepted."""

    name: str
    chain: Chain
    rows: NDArray[np.float32]
    history: tuple[int, ...] = ()


def _normal(seed: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    drawn = np.random.RandomState(seed).standard_normal(shape)  # whose numbers never change
    return (4 * drawn).astype(np.float32)


def _ties(seed: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    return np.random.RandomState(seed).randint(-4, 5, shape).astype(np.float32)


def _half(seed: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    return _normal(seed, shape).astype(np.float16).astype(np.float32)


def _huge(seed: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return rows with values beyond every int, of both signs, among ordinary ones."""
    rows, random = _normal(seed, shape), np.random.RandomState(seed + 1)
    for row in rows:
        places = random.permutation(shape[1])[:9]
        row[places] = [1e30, -1e30, 3e9, -3e9, 4e8, -4e8, np.inf, -np.inf, 3.4e38]
    return rows


_DIST: Chain = [{"dist": {"seed": 7}}]
_V = (5, 17, 40, 70)


def _history(seed: int, n_vocab: int, n: int = 30) -> tuple[int, ...]:
    return tuple(np.random.RandomState(seed).randint(0, max(1, n_vocab // 2), n).tolist())


def _filters() -> list[Case]:
    cases = []
    for v in (*_V, 300):
        for k in (1, 3, v // 2, v - 1, 130):
            chain = [{"top_k": {"k": k}}, *_DIST]
            cases += [Case(f"top_k/ties-V{v}-k{k}", chain, _ties(v + k, (2, v)))]
        for p in (0.3, 0.9, 0.97):
            for name in ("top_p", "typical_p"):
                chain = [{name: {"p": p, "min_keep": 1}}, *_DIST]
                cases += [Case(f"{name}/ties-V{v}-p{p}", chain, _ties(v, (3, v)))]
                cases += [Case(f"{name}/normal-V{v}-p{p}", chain, _normal(v, (3, v)))]
        for n in (0.5, 1.0, 1.7):
            chain = [{"top_n_sigma": {"n": n}}, *_DIST]
            cases += [Case(f"top_n_sigma/normal-V{v}-n{n}", chain, _normal(v, (3, v)))]
            cases += [Case(f"top_n_sigma/ties-V{v}-n{n}", chain, _ties(v, (3, v)))]
        xtc = {"p": 1.0, "t": 0.05, "min_keep": 1, "seed": 3}
        min_p = {"p": 0.05, "min_keep": 3}
        cases += [Case(f"xtc/ties-V{v}", [{"xtc": xtc}, *_DIST], _ties(v, (3, v)))]
        cases += [Case(f"min_p/ties-V{v}", [{"min_p": min_p}, *_DIST], _ties(v, (3, v)))]
    for seed in range(12):
        for k in (5, 140, 250):
            chain = [{"top_k": {"k": k}}, *_DIST]
            cases += [Case(f"top_k/huge-{seed}-k{k}", chain, _huge(seed, (2, 280)))]
    return cases


def _contracted() -> list[Case]:
    cases = []
    for i, v in enumerate(_V * 6):
        penalties = {
            "penalty_last_n": 24,
            "penalty_repeat": (1.0, 1.1)[i % 2],
            "penalty_freq": round(0.11 + 0.13 * i, 2),
            "penalty_present": round(0.07 * i, 2),
        }
        chain = [{"penalties": penalties}, *_DIST]
        past = _history(i, v)
        cases += [Case(f"penalties/V{v}-{i}", chain, _normal(i, (3, v)), past)]
        temp_ext = {"temp": 0.6 + 0.1 * i, "delta": 0.3 + 0.05 * i, "exponent": 0.5 + 0.25 * i}
        for family, rows in (("normal", _normal), ("ties", _ties)):
            chain = [{"temp_ext": temp_ext}, *_DIST]
            cases += [Case(f"temp_ext/{family}-V{v}-{i}", chain, rows(i, (3, v)))]
        dry = {
            "dry_multiplier": 0.8,
            "dry_base": round(1.1 + 0.07 * i, 2),
            "dry_allowed_length": 1,
            "dry_penalty_last_n": 60,
            "seq_breakers": [],
        }
        past = _history(i, 6, 50)
        cases += [Case(f"dry/V{v}-{i}", [{"dry": dry}, *_DIST], _normal(i, (3, v)), past)]
    return cases


def _streams() -> list[Case]:
    cases = []
    for i, v in enumerate(_V * 6):
        mirostat = {"seed": i, "tau": 1.0 + 0.35 * i, "eta": 0.1 + 0.03 * i}
        adaptive = {"target": 0.05 + 0.035 * i, "decay": 0.5 + 0.02 * i, "seed": i}
        for family, rows in (("normal", _normal), ("ties", _ties)):
            chains = {
                "mirostat": {"mirostat": mirostat | {"m": 100}},
                "mirostat_v2": {"mirostat_v2": mirostat},
                "adaptive_p": {"adaptive_p": adaptive},
            }
            for name, stage in chains.items():
                cases += [Case(f"{name}/{family}-V{v}-{i}", [stage], rows(i, (12, v)))]
    return cases


def _chains() -> list[Case]:
    """Return cases with float16 logits, as models give them, through the usual filters."""
    cases = []
    for seed in range(12):
        chain: Chain = [
            {"top_k": {"k": (40, 200)[seed % 2]}},
            {"top_p": {"p": 0.95, "min_keep": 1}},
            {"min_p": {"p": 0.05, "min_keep": 1}},
            {"temp": {"temp": 0.8}},
            {"dist": {"seed": seed}},
        ]
        cases += [Case(f"chain/half-{seed}", chain, _half(seed, (4, 2000)))]
    return cases


@functools.cache
def cases() -> dict[str, Case]:
    made = [*_filters(), *_contracted(), *_streams(), *_chains()]
    return {case.name: case for case in made}


def names_of(platform: str) -> tuple[str, ...]:
    """Return the cases for the build of a platform: that of Windows aborts at an infinite logit."""
    return tuple(n for n in cases() if platform != "windows-x64" or "/huge" not in n)


@contextmanager
def real_build(name: str) -> Iterator[Worker]:
    """Yield a worker of the build. Skip the test if the build or its runner is missing."""
    build = find(name)
    if build is None or runners.missing(build):
        where = "not in the cache, or nothing runs it: see docs/background/builds.md"
        pytest.skip(f"build {name} is {where}")
    worker = Worker(name)
    try:
        yield worker
    finally:
        worker.program.close()


def outcome(worker: Any, case: Case) -> list[str]:
    """Return the results of a worker in Python on a case, one text for each step.

    It has the digest of the candidates after each stage, 10 hexadecimal digits, and the token.
    """
    instance = worker.build(case.chain, case.rows.shape[1], None)
    for token in case.history:
        instance.accept(token)
    steps = []
    for row in case.rows:
        candidates = worker.candidates(row)
        words = []
        for stage in range(len(case.chain)):
            instance.apply(stage, candidates)
            words.append(digest(*worker.result(candidates)))
        ids, *_, selected = worker.result(candidates)
        token = int(ids[selected])
        instance.accept(token)
        steps.append(" ".join([*words, str(token)]))
    return steps


def digest(ids: Any, logits: Any, p: Any, _sorted: bool | None, selected: int) -> str:
    """Return a digest of the bits; all NaNs are equal, -0 is not 0."""
    floats = [np.where(np.isnan(part), np.nan, part).astype("<f4") for part in (logits, p)]
    parts = [np.asarray(ids, "<i4"), *floats, np.asarray([selected], "<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:10]


@functools.cache
def recorded() -> dict[str, Any]:
    """Return the recorded results. made: by what; results: platform -> case -> its outcome."""
    read: dict[str, Any] = json.loads(FILE.read_text())
    return read
