"""`python -m studies.akunu [SECTION...]`: the figures of docs/findings/akunu.md.

Distributions are exact (akunu's model/distribution.py); only `pairs`, `windows` and `time` run
anything. TV is the total variation distance.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.engines.akunu import cpu as cpu_backend
from sampler_parity.engines.akunu import gumbel as gumbel_backend
from sampler_parity.engines.akunu.model.bisection import bisected, kept
from sampler_parity.engines.akunu.model.distribution import (
    cpu_distribution,
    first_share_of_equal,
    gumbel_distribution,
    tail_probability,
)
from sampler_parity.engines.akunu.model.gumbel_max import (
    KNUTH,
    AkunuGumbel,
    element_seed,
    gumbel,
    uniforms,
)
from sampler_parity.engines.akunu.model.pipeline import DEFAULT_CAP, PRESETS, Akunu, to_half
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.statistics.tv import between as tv
from sampler_parity.reference import Candidates, build_chain, floats, sorting
from studies.sections import main

VOCABULARY = 128256
ROWS = range(0, 320, 20)  # of the golden fixture
SAMPLED = {name: given for name, given in PRESETS.items() if given["temperature"] > 0}

Law = NDArray[np.float64]


def golden_row(index: int) -> NDArray[np.float32]:
    return np.asarray(to_half(fixtures.load("small")[index].astype(np.float32)), np.float32)


def zipf(n: int = VOCABULARY) -> NDArray[np.float32]:
    row = FAMILIES["zipf"](np.random.default_rng(0), n).astype(np.float32)
    return np.asarray(to_half(row), np.float32)


def softmax(logits: NDArray[Any], temperature: float = 1.0) -> Law:
    p = np.exp((logits.astype(np.float64) - float(logits.max())) / temperature)
    return np.asarray(p / p.sum(), np.float64)


def spread(cand: Candidates, p: Law, n: int) -> Law:
    """Return p of the candidates over the vocabulary."""
    distribution = np.zeros(n)
    distribution[cand.ids] = p
    return distribution


def filtered(
    row: NDArray[np.float32], parameters: dict[str, float], dtype: Any = np.float32
) -> Candidates:
    """Return the candidates that akunu leaves, with their p."""
    cand = Candidates.from_logits(row, dtype=dtype)
    Akunu(seed=0, **parameters).apply(cand)
    return cand


def ideal_distribution(row: NDArray[np.float32], parameters: dict[str, float]) -> Law:
    """Return akunu's distribution without rounding."""
    cand = filtered(row, parameters, np.float64)
    return spread(cand, cand.p, len(row))


def llama_cpp_distribution(row: NDArray[np.float32], parameters: dict[str, float]) -> Law:
    """Return the distribution of llama.cpp's chain with the same parameters, without rounding."""
    stages: list[dict[str, dict[str, Any]]] = [
        {"top_k": {"k": parameters.get("top_k", 0)}},
        {"top_p": {"p": parameters.get("top_p", 1.0)}},
        {"min_p": {"p": parameters.get("min_p", 0.0)}},
        {"temp": {"temp": parameters["temperature"]}},
    ]
    cand = Candidates.from_logits(row, dtype=np.float64)
    build_chain(stages).apply(cand)
    return spread(cand, softmax(cand.logits), len(row))


def order() -> list[str]:
    """Compare akunu's order with llama.cpp's: the same parameters, the golden model's logits."""
    lines = []
    for name, parameters in SAMPLED.items():
        away = [
            tv(
                ideal_distribution(golden_row(i), parameters),
                llama_cpp_distribution(golden_row(i), parameters),
            )
            for i in ROWS
        ]
        lines.append(f"{name:<14} TV mean {np.mean(away):.4f}  largest {max(away):.4f}")
    return lines


def cap() -> list[str]:
    """Measure the mass that the cap of 256 removes if top_k is 0."""
    rows = {f"golden, T = {t}": [softmax(golden_row(i), t) for i in ROWS] for t in (1.0, 1.2)}
    rows["zipf, V = 128,256, T = 1"] = [softmax(zipf())]
    rows["equal logits, V = 128,256"] = [np.full(VOCABULARY, 1 / VOCABULARY)]
    lost = {
        name: [1 - np.sort(p)[-DEFAULT_CAP:].sum() for p in distributions]
        for name, distributions in rows.items()
    }
    return [f"{name:<28} mean {np.mean(x):.4f}  most {max(x):.4f}" for name, x in lost.items()]


def sort() -> list[str]:
    """Time std::partial_sort of 40 against std::sort, 131,072 probabilities, best of 5."""
    p = softmax(zipf(131072)).astype(np.float32)
    sorts: dict[str, Callable[[], object]] = {
        "part": lambda: sorting.std_partial_sort(p, 40),
        "all": lambda: sorting.std_sort(p),
    }
    seconds = {}
    for name, work in sorts.items():
        work()
        seconds[name] = min(_seconds(work) for _ in range(5))
    share = seconds["part"] / seconds["all"]
    return [
        f"log(40) / log(131072) = {np.log(40) / np.log(131072):.1%}",
        f"measured: {seconds['part'] * 1e3:.2f} ms of {seconds['all'] * 1e3:.2f} ms = {share:.1%}",
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu() -> list[str]:
    """Compare the float32 walk and its float32 uniforms with the distribution without rounding."""
    away = []
    for parameters in SAMPLED.values():
        for i in ROWS:
            cand = filtered(golden_row(i), parameters)
            walked = spread(cand, cpu_distribution(cand.p), 4096)
            away.append(tv(walked, ideal_distribution(golden_row(i), parameters)))
    lines = [f"golden rows and presets: TV mean {np.mean(away):.1e}  largest {max(away):.1e}"]
    rng = np.random.default_rng(0)
    hit = []
    for _ in range(1000):
        row = np.full(300, -np.inf, np.float32)
        row[rng.choice(300, 20, replace=False)] = rng.normal(0, 2, 20)
        cand = Candidates.from_logits(row)
        Akunu(seed=0, temperature=1.0, logits="f32").apply(cand)
        hit.append(float(cpu_distribution(cand.p)[cand.p == 0].sum()))
    able = [h for h in hit if h > 0]
    return [
        *lines,
        f"20 of 300 tokens allowed, no filter: {len(able)}/1000 masks can draw a banned token,"
        f" with probability up to {max(hit):.1e}",
    ]


def noise16() -> list[str]:
    """Compare the float16 path with softmax: where rounding to float16 shows."""
    lines = []
    for n in (2, 32, 4096, VOCABULARY):
        for level in (0, 10, 20, 40, 1000):
            if n < VOCABULARY or level in (10, 40):
                p = gumbel_distribution(np.full(n, level, np.float32), 1.0)
                lines.append(
                    f"{n:>7} equal logits of {level:>4}, T = 1: TV {tv(p, np.full(n, 1 / n)):.6f}"
                    f"  first / last token {p[0] / p[-1]:.5f}"
                )
    for t in (0.2, 0.7, 1.2):
        p = gumbel_distribution(np.full(32, 20, np.float32), t)
        lines.append(f"     32 equal logits of   20, T = {t}: TV {tv(p, np.full(32, 1 / 32)):.6f}")
    for gap in (1, 4, 64):
        row = np.array([20, 20 + gap / 64], np.float32)
        p = gumbel_distribution(row, 1.0)
        lines.append(
            f"two logits, 20 and {gap} step(s) of float16 above: TV {tv(p, softmax(row)):.6f}"
        )
    return lines


def gumbel_distribution_of(row: NDArray[np.float32], parameters: dict[str, float]) -> Law:
    """Return the distribution of the float16 path behind its filters."""
    sampler, logits = AkunuGumbel(seed_offset=0, **parameters), row.copy()
    with np.errstate(all="ignore"):
        sampler._filter(logits)
    return gumbel_distribution(logits, parameters["temperature"])


def paths() -> list[str]:
    """Compare the two paths on the golden model's logits, behind the same filters."""
    lines = []
    for name, parameters in SAMPLED.items():
        away = []
        for i in ROWS:
            cand = filtered(golden_row(i), parameters)
            walked = spread(cand, cpu_distribution(cand.p), 4096)
            away.append(tv(gumbel_distribution_of(golden_row(i), parameters), walked))
        lines.append(f"{name:<14} TV mean {np.mean(away):.5f}  largest {max(away):.5f}")
    return lines


def noise32() -> list[str]:
    """Measure float32 noise: 24-bit uniforms in the tail and among equals."""
    lines = []
    for depth in (10, 12, 14, 15, 16, 17, 18, 20, 22):
        drawn = tail_probability(depth) / np.exp(-depth)
        lines.append(f"{depth} nats below: drawn {drawn:.3g} times its probability")
    for n in (32, 4096, 32000, VOCABULARY, 262144):
        share = first_share_of_equal(n, n // 2)
        lines.append(f"{n:>7} equal logits of 0: the lower half of the ids has {share:.7f}")
    return lines


def windows() -> list[str]:
    """Count positions whose noise overlaps, with the effect on equal logits."""
    lines = []
    for n in (32000, VOCABULARY, 151936, 262144):
        distance = np.arange(1, 2**17, dtype=np.uint64)
        shift = (distance * np.uint64(KNUTH) % np.uint64(2**32)).astype(np.int64)
        apart = np.where(shift > 2**31, shift - 2**32, shift)
        near = np.flatnonzero(abs(apart) < n)
        first = ", ".join(f"{distance[i]:,} (shared {n - abs(apart[i]):,})" for i in near[:3])
        lines.append(f"V = {n:>7,}: {len(near)} distances under 131,072 overlap: {first or 'none'}")
    n, later = VOCABULARY, 50549
    back = int((later * KNUTH + 2**31) % 2**32 - 2**31)
    tokens = {p: _first_of_equal(p, n) for p in range(200)}
    same = sum(_first_of_equal(p + later, n) == token - back for p, token in tokens.items())
    lines.append(
        f"V = {n:,}, equal logits, positions {later:,} apart: {same}/200 times the same noise"
        f" wins again, {back:+,} ids away; expected by chance: {200 / n:.4f}"
    )
    a = [_first_of_equal(p, n, offset=1000) for p in range(1, 101)]
    b = [_first_of_equal(p, n, offset=1001) for p in range(100)]
    equal = sum(np.equal(a, b))
    lines.append(f"offset 1000 at position p + 1, offset 1001 at p: {equal}/100 tokens equal")
    return lines


def _first_of_equal(position: int, n: int, offset: int = 0) -> int:
    return int(gumbel(uniforms(element_seed(position, offset), n)).argmax())


def pairs() -> list[str]:
    """Test a million consecutive positions on equal logits: is each token and pair uniform?"""
    lines, positions = [], 1_000_000
    for n in (2, 8, 32):
        seeds = np.arange(positions, dtype=np.uint64) * np.uint64(KNUTH) % np.uint64(2**32)
        u = np.array([uniforms(int(s), n) for s in seeds])
        tokens = np.asarray(gumbel(u).argmax(1))
        for lag in (0, 1, 2):
            cells = n if lag == 0 else n * n
            seen = tokens if lag == 0 else tokens[:-lag] * n + tokens[lag:]
            counts = np.bincount(seen, minlength=cells)
            expected = len(seen) / cells
            p = scipy.stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), cells - 1)
            what = "tokens" if lag == 0 else f"pairs {lag} apart"
            lines.append(
                f"V = {n:>2}  {what:<13} chi-square p = {p:.3f}  largest excess"
                f" {abs(counts / expected - 1).max():.4f}"
            )
    return lines


def filters() -> list[str]:
    """Compare temperature and entropy, min_p and confidence; show the role of the largest logit."""
    rows = [golden_row(i) for i in ROWS]
    distributions = {t: [softmax(row, t) for row in rows] for t in (0.5, 1.0, 2.0)}
    nats = {
        t: [float(-(p * np.log(np.maximum(p, 1e-300))).sum()) for p in distributions[t]]
        for t in distributions
    }
    rising = sum(a < b < c for a, b, c in zip(nats[0.5], nats[1.0], nats[2.0], strict=True))
    survivors = [int((p >= 0.05 * p.max()).sum()) for p in distributions[1.0]]
    rank = float(scipy.stats.spearmanr([p.max() for p in distributions[1.0]], survivors).statistic)
    with np.errstate(over="ignore"):
        overflows = np.isinf(floats.exp(np.array([88.72, 88.73], np.float32))).tolist()
    return [
        f"entropy rises from T = 0.5 to 1 to 2 in {rising}/{len(rows)} rows",
        f"min_p 0.05 keeps {min(survivors)} to {max(survivors)} tokens;"
        " rank correlation with the largest p"
        f" {rank:.2f}",
        f"expf(88.72) and expf(88.73) are infinite: {overflows}",
        f"float16 logits of 128,000 tokens: {2 * 128_000:,} bytes",
    ]


def bisection() -> list[str]:
    """Search top_k 40 by bisection on values: the rest after some steps, and the steps needed."""
    rows = [golden_row(i) for i in ROWS] + [zipf()]
    lines = []
    for steps in (8, 12, 16, 20, 24):
        more = [int(kept(row, 40, steps).sum()) for row in rows]
        less = [int(kept(row, 40, steps, cut="high").sum()) for row in rows]
        distributions = [
            (masked(row, kept(row, 40, steps)), masked(row, kept(row, 40))) for row in rows
        ]
        lines.append(
            f"{steps:>2} steps keep {np.mean(more):.1f} at low ({max(more)} at most),"
            f" {np.mean(less):.1f} at high ({min(less)} at least);"
            f" TV of low {max(tv(a, b) for a, b in distributions):.1e} at most"
        )
    ends = [bisected(row, 40)[2] for row in rows]
    banned = [bisected(np.append(row, np.float32(-65504)), 40)[2] for row in rows]
    masks = [
        int(kept(np.append(row, np.float32(-np.inf)), 40, start="smallest").sum()) for row in rows
    ]
    exact = [int(kept(row, 40).sum()) for row in rows]
    return [
        *lines,
        f"to its end: {np.mean(ends):.1f} steps, {max(ends)} at most; {max(exact)} stay at most",
        f"with a ban of -65504: {np.mean(banned):.1f} steps, {max(banned)} at most",
        f"with one -inf that it starts at: {min(masks):,} to {max(masks):,} stay",
    ]


def masked(row: NDArray[np.float32], stay: NDArray[np.bool_]) -> Law:
    return softmax(np.where(stay, row, -np.inf))


def timing() -> list[str]:
    """Time the vectorised backends at V = 128,256, median of 20, and the widening to float32."""
    row = zipf()
    chains = {
        "akunu/cpu": {"akunu": {"seed": 1, **PRESETS["balanced"]}},
        "akunu/gumbel": {"akunu_gumbel": {"seed_offset": 1, **PRESETS["balanced"]}},
    }
    workers = {"akunu/cpu": cpu_backend.Worker(), "akunu/gumbel": gumbel_backend.Worker()}
    lines = []
    for name, stage in chains.items():
        worker: Any = workers[name]
        instance = worker.build(complete([stage], len(row)), len(row), None)
        taken = []
        for _ in range(21):
            candidates = worker.candidates(row)
            taken.append(_seconds(lambda c=candidates, i=instance: i.apply(None, c)))  # type: ignore[misc]
        lines.append(f"{name:<13} {np.median(taken[1:]) * 1e6:,.0f} us a token")
    half = row.astype(np.float16)
    widen = np.median([_seconds(lambda: half.astype(np.float32)) for _ in range(20)])
    return [*lines, f"float16 to float32, {half.nbytes / 1024:,.0f} KiB: {widen * 1e6:,.0f} us"]


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "order": order,
    "cap": cap,
    "sort": sort,
    "cpu": cpu,
    "noise16": noise16,
    "paths": paths,
    "noise32": noise32,
    "windows": windows,
    "pairs": pairs,
    "filters": filters,
    "bisection": bisection,
    "time": timing,
}


if __name__ == "__main__":
    main(__doc__, SECTIONS)
