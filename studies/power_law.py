"""`python -m studies.power_law [SECTION...]`: the figures of docs/findings/power-law.md.

On the golden model's logits by default; TV is the total variation distance.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.power_law.model import PRESETS, PowerLaw
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.statistics import tv
from sampler_parity.reference import Candidates, Chain
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from studies.sections import main

ROWS = range(0, 320, 10)
MIN_P = {"min_p": {"p": 0.02}}
EXAMPLE = np.log(np.array([0.6, 0.25, 0.1, 0.05]))
DOCUMENTED = [0.05, 0.15, 0.70, 0.10]
DEFAULTS = {"distribution_width": 0.1, "tail_heaviness": 3.0, "queue_size": 10}

Law = NDArray[np.float64]


def golden(index: int) -> NDArray[np.float32]:
    return np.asarray(fixtures.load("small")[index % 320], np.float32)


def reshaped(logits: NDArray[Any], parameters: dict[str, float], filters: bool) -> tuple[Law, Law]:
    """Return the candidates' original and new probabilities, without a history."""
    return _around(logits, PowerLaw(seed=0, **parameters), filters)


def _around(logits: NDArray[Any], sampler: Any, filters: bool) -> tuple[Law, Law]:
    cand = Candidates.from_logits(logits, dtype=np.float64)
    if filters:
        build_chain([MIN_P]).apply(cand)
    cand.softmax(sort=False)
    before = cand.p
    sampler.apply(cand)
    return before, cand.p


def nats(p: Law) -> float:
    """Return the entropy of a distribution."""
    return float(-(p * np.log(np.maximum(p, 1e-300))).sum())


def example() -> list[str]:
    """Show the documented example: target .10, width .05."""
    lines = [f"documented: {DOCUMENTED}"]
    for peak, heaviness in itertools.product((5.0, 10.0, 15.0), (2.0, 4.0)):
        parameters = DEFAULTS | {
            "target": 0.1,
            "distribution_width": 0.05,
            "tail_heaviness": heaviness,
            "peak_logit_value": peak,
        }
        _, p = reshaped(EXAMPLE, parameters, filters=False)
        lines.append(f"peak {peak:>4}, heaviness {heaviness}: {[float(f'{x:.3g}') for x in p]}")
    return [*lines, "B lies 3 widths from the target and D one: no parameters give B more than D"]


def kernel() -> list[str]:
    """Show the weight exp(logit) by distance, as a share of the peak's, peak 10, heaviness 3."""
    sampler = PowerLaw(0.5, 0.01, 3.0, 10, seed=0)
    widths = np.array([0, 0.5, 1, 2, 3, 5, 10, 40])
    above = sampler.reshaped(0.5 + widths * 0.01, np.float64(0.5))
    below = sampler.reshaped(0.5 - widths * 0.01, np.float64(0.5))
    weight = np.exp(above - above[0])
    lines = [f"{w:>4g} widths away: {x:.3g}" for w, x in zip(widths, weight, strict=True)]
    lines.append(
        f"largest difference between above and below the target: {abs(above - below).max():.1e}"
    )
    return lines


def tail() -> list[str]:
    """Show the share of the draws that goes to tokens of original probability below 1e-4."""
    zipf = FAMILIES["zipf"](np.random.default_rng(0), 128256)
    lines = []
    for name, parameters in PRESETS.items():
        shares = {}
        for filters in (False, True):
            laws = [reshaped(golden(i), parameters, filters) for i in ROWS]
            shares[filters] = np.mean([new[old < 1e-4].sum() for old, new in laws])
        old, new = reshaped(zipf, parameters, filters=False)
        lines.append(
            f"{name:<17} V = 4,096: {shares[False]:.4f}  behind min_p .02: {shares[True]:.4f}"
            f"  zipf, V = 128,256: {new[old < 1e-4].sum():.4f}"
        )
    parameters = DEFAULTS | {"target": 0.08, "distribution_width": 0.05}
    _, new = reshaped(np.log(np.array([0.4, 0.08, 0.0001, 0.5199])), parameters, filters=False)
    lines.append(
        f"quickly .40, swiftly .08, xyzabc .0001, target .08, width .05: {new[0]:.4f},"
        f" {new[1]:.4f}, {new[2]:.4f}"
    )
    return lines


def entropy() -> list[str]:
    """Show mean entropy in nats and top-1 chance by target; width .1, heaviness 3."""
    lines = []
    for target in (0.02, 0.1, 0.3, 0.6, 0.8):
        parameters = DEFAULTS | {"target": target}
        text = f"target {target:<4}"
        for filters in (False, True):
            laws = [reshaped(golden(i), parameters, filters) for i in ROWS]
            mean = np.mean([nats(p) for _, p in laws])
            first = np.mean([p[old.argmax()] for old, p in laws])
            text += f"  {'behind min_p .02' if filters else 'alone'}: {mean:.2f} nats, {first:.3f}"
        lines.append(text)
    return lines


# The documented settings of "controllable creativity": target and width.
CREATIVITY = {"conservative": (0.6, 0.1), "balanced": (0.2, 0.15), "aggressive": (0.03, 0.05)}


def parameters() -> list[str]:
    """Show the documented creativity settings behind min_p .02, then one parameter at a time."""
    base = DEFAULTS | {"target": 0.3}
    settings: dict[str, dict[str, float]] = {
        name: base | {"target": target, "distribution_width": width}
        for name, (target, width) in CREATIVITY.items()
    }
    for name, values in {
        "distribution_width": (0.02, 0.1, 0.5),
        "tail_heaviness": (1.0, 3.0, 10.0),
        "peak_logit_value": (5.0, 10.0, 20.0),
    }.items():
        settings |= {f"{name} {value:g}": base | {name: value} for value in values}
    lines = []
    for name, setting in settings.items():
        laws = [reshaped(golden(i), setting, filters=True) for i in ROWS]
        each = [nats(p) for _, p in laws]
        first = np.mean([p[old.argmax()] for old, p in laws])
        picked = np.mean([(old * p).sum() for old, p in laws])
        lines.append(
            f"{name:<24} entropy {np.mean(each):.2f} nats (spread {np.std(each):.2f} over rows),"
            f" most likely token {first:.3f}, mean original p of a draw {picked:.3f}"
        )
    plain = [nats(old) for old, _ in laws]
    return [*lines, f"without power_law: {np.mean(plain):.2f} nats, spread {np.std(plain):.2f}"]


def _run(sampler: Any, target_of: Callable[[], float], steps: int) -> tuple[Law, Law]:
    """Return targets and selected original probabilities, behind min_p."""
    chain = Chain([*build_chain([MIN_P]).samplers, sampler])
    targets, picked = [], []
    for step in range(steps):
        targets.append(target_of())
        cand = Candidates.from_logits(golden(step))
        chain.samplers[0].apply(cand)
        cand.softmax(sort=False)
        before = cand.p
        sampler.apply(cand)
        picked.append(float(before[cand.selected]))
        chain.accept(int(cand.ids[cand.selected]))
    return np.array(targets), np.array(picked)


def _adapted(sampler: AdaptiveP) -> float:
    return float(np.clip(2 * sampler.target - sampler.weighted_sum / sampler.total_weight, 0, 1))


def tracking() -> list[str]:
    """Show targets over 640 steps behind min_p .02, and adaptive_p's (decay 1 - 1 / queue_size)."""
    lines = []
    for name, parameters in PRESETS.items():
        mine = PowerLaw(seed=1, **parameters)
        at, picked = _run(mine, lambda s=mine: float(s.computed_target()), 640)  # type: ignore[misc]
        filled = at[mine.queue_size :]
        low, high = float(mine.min_target), float(mine.max_target)
        pinned = np.mean((filled <= low) | (filled >= high))
        start = int(np.argmax(at[1:] < high)) if (at[1:] < high).any() else 639
        other = AdaptiveP(parameters["target"], seed=1, decay=1 - 1 / parameters["queue_size"])
        there, chosen = _run(other, lambda s=other: _adapted(s), 640)  # type: ignore[misc]
        lines += [
            f"{name:<17} target {parameters['target']:.2f}"
            f"  power_law: selected p {picked.mean():.3f},"
            f" at {high:g} for the first {start} draws, later at a bound {pinned:.0%},"
            f" spread {filled.std():.3f}",
            f"{'':<17}              adaptive_p: selected p {chosen.mean():.3f},"
            f" at a bound {np.mean((there <= 0) | (there >= 1)):.0%}, spread {there.std():.3f}",
        ]
    return lines


def adaptive() -> list[str]:
    """Compare power_law with adaptive_p's distribution: target .3, no history."""
    grid = {
        "distribution_width": (0.05, 0.1, 0.15, 0.2, 0.3, 0.5),
        "tail_heaviness": (1.0, 1.5, 2.0, 3.0, 4.0),
        "peak_logit_value": (5.0, 7.5, 10.0, 15.0, 20.0, 30.0),
    }
    lines = []
    for filters in (True, False):
        wanted = {i: _around(golden(i), AdaptiveP(0.3, seed=0), filters)[1] for i in ROWS}
        distances = []
        for values in itertools.product(*grid.values()):
            parameters = {"target": 0.3, "queue_size": 10} | dict(zip(grid, values, strict=True))
            away = [
                tv.between(reshaped(golden(i), parameters, filters)[1], wanted[i]) for i in ROWS
            ]
            distances.append((float(np.mean(away)), max(away), values))
        mean, largest, values = min(distances)
        same = next(f for f in distances if f[2] == (0.3, 2.0, 5.0))
        lines += [
            f"{'behind min_p .02' if filters else 'alone'}: best width {values[0]}, heaviness"
            f" {values[1]}, peak {values[2]}: TV mean {mean:.3f}  largest {largest:.3f}",
            f"  adaptive_p's own width and peak, heaviness 2: TV mean {same[0]:.3f}"
            f"  largest {same[1]:.3f}",
        ]
    return lines


def timing() -> list[str]:
    """Time the reference at V = 128,256, median of 20."""
    row = FAMILIES["zipf"](np.random.default_rng(0), 128256).astype(np.float32)
    chains: dict[str, ChainSpec] = {
        "power_law": [{"power_law": {"seed": 1, **PRESETS["creative_writing"]}}],
        "top_k 40, dist": [{"top_k": {"k": 40}}, {"dist": {"seed": 1}}],
        "adaptive_p": [{"adaptive_p": {"seed": 1, "target": 0.12}}],
    }
    lines = []
    for name, stages in chains.items():
        chain, taken = build_chain(stages), []
        for _ in range(21):
            cand = Candidates.from_logits(row)
            start = time.perf_counter()
            chain.apply(cand)
            taken.append(time.perf_counter() - start)
        lines.append(f"{name:<15} {np.median(taken[1:]) * 1e6:,.0f} us")
    return lines


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "example": example,
    "kernel": kernel,
    "tail": tail,
    "entropy": entropy,
    "parameters": parameters,
    "tracking": tracking,
    "adaptive": adaptive,
    "time": timing,
}

if __name__ == "__main__":
    main(__doc__, SECTIONS)
