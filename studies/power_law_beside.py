"""The power-law sampler compared with others, and its two readings:

`python -m studies.power_law_beside [SECTION...]`

Sections: readings, others, pruning, compiled; default all. `compiled` takes c++. On the golden
model's logits by default; TV is the total variation distance.
"""

import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from sampler_parity.engines.power_law.model import PRESETS, PowerLaw
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.reference import Candidates, Chain
from studies.akunu import tv
from studies.power_law import MIN_P, ROWS, golden, reshaped
from studies.sections import main

STEPS = 640


class WithoutTheNewest(PowerLaw):
    """history[0] to history[queue_size - 2] of a history that is pushed at its end: the oldest."""

    def computed_target(self, kind: Any = np.float32) -> Any:
        everything = self.history
        self.history = deque([0.0, *list(everything)[: self.queue_size - 1]], self.queue_size)
        target = super().computed_target(kind) if everything else kind(self.target)
        self.history = everything
        return target


def followed(sampler: PowerLaw, filters: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Return the targets and the original probabilities of the draws of STEPS steps."""
    targets, drawn = [], []
    for step in range(STEPS):
        targets.append(float(sampler.computed_target()))
        cand = Candidates.from_logits(golden(step))
        filters.apply(cand)
        sampler.apply(cand)
        drawn.append(float(sampler.history[-1]))
    return np.array(targets), np.array(drawn)


def readings() -> list[str]:
    """Compare the sum without the oldest draw and without the newest; 640 steps, min_p .02."""
    lines = []
    for name, parameters in PRESETS.items():
        for what, kind in (("oldest", PowerLaw), ("newest", WithoutTheNewest)):
            sampler = kind(seed=1, **parameters)
            targets, drawn = followed(sampler, build_chain([MIN_P]))
            later = targets[sampler.queue_size :]
            low, high = float(sampler.min_target), float(sampler.max_target)
            bound = np.mean((later <= low) | (later >= high))
            turns = np.corrcoef(later[1:], drawn[sampler.queue_size : -1])[0, 1]
            lines.append(
                f"{name:<17} without the {what}: mean target {later.mean():.3f}, at a bound"
                f" {bound:.0%}, selected p {drawn.mean():.3f},"
                f" correlation of a draw with the next target {turns:+.2f}"
            )
    return lines


OTHERS: dict[str, list[dict[str, Any]]] = {
    "greedy": [{"top_k": {"k": 1}}],
    "top_k 5": [{"top_k": {"k": 5}}],
    "top_k 40": [{"top_k": {"k": 40}}],
    "top_p 0.9": [{"top_p": {"p": 0.9}}],
    "min_p 0.05": [{"min_p": {"p": 0.05}}],
    "temp 1.5": [{"temp": {"temp": 1.5}}],
    "temp 0.7": [{"temp": {"temp": 0.7}}],
    "mirostat_v2 tau 5": [{"mirostat_v2": {"seed": 1, "tau": 5.0, "eta": 0.1}}],
    "power_law .12": [{"power_law": {"seed": 1, **PRESETS["creative_writing"]}}],
    "min_p, power_law .12": [MIN_P, {"power_law": {"seed": 1, **PRESETS["creative_writing"]}}],
    "min_p, power_law .6": [MIN_P, {"power_law": {"seed": 1, **PRESETS["mostly_greedy"]}}],
}


def others() -> list[str]:
    """Show the candidates that each leaves, over the rows; with state, after 64 draws on other
    rows.
    """
    lines = [f"{'':<22}{'tokens':>8}{'entropy':>9}{'likeliest':>11}{'mean p':>8}{'p < 1e-4':>10}"]
    for name, stages in OTHERS.items():
        chain = build_chain(stages, n_vocab=4096)
        for row in range(64):  # what has a state is where it settles
            cand = Candidates.from_logits(golden(row * 5 + 3))
            chain.apply(cand)
            if cand.token is not None:
                chain.accept(cand.token)
        figures = []
        for index in ROWS:
            original = Candidates.from_logits(golden(index))
            original.softmax(sort=False)
            cand = Candidates.from_logits(golden(index))
            chain.clone().apply(cand)
            cand.softmax(sort=False)
            law = cand.p.astype(np.float64) / cand.p.sum(dtype=np.float64)
            before = original.p[cand.ids].astype(np.float64)
            entropy = -(law * np.log(np.maximum(law, 1e-300))).sum()
            likeliest = law[before.argmax()] if before.max() == original.p.max() else 0.0
            nonsense = law[before < 1e-4].sum()
            figures.append(
                [np.count_nonzero(law), entropy, likeliest, (law * before).sum(), nonsense]
            )
        tokens, entropy, likeliest, mean, nonsense = np.mean(figures, axis=0)
        lines.append(
            f"{name:<22}{tokens:8,.0f}{entropy:9.2f}{likeliest:11.3f}{mean:8.3f}{nonsense:10.4f}"
        )
    return lines


def pruning() -> list[str]:
    """Show the TV between the distributions with and without tokens farther than three widths."""
    lines = []
    for name, parameters in PRESETS.items():
        text = f"{name:<17}"
        for filters in (False, True):
            away, left = [], []
            for index in ROWS:
                original, law = reshaped(golden(index), parameters, filters)
                near = abs(original - parameters["target"]) <= 3 * parameters["distribution_width"]
                if not near.any():
                    near = abs(original - parameters["target"]).argsort() < 1
                pruned = np.where(near, law, 0.0)
                away.append(tv(pruned / pruned.sum(), law))
                left.append(np.count_nonzero(near))
            where = "behind min_p .02" if filters else "alone"
            text += (
                f"  {where}: TV {np.mean(away):.3f}, {max(away):.3f} at most,"
                f" {np.mean(left):,.0f} tokens stay"
            )
        lines.append(text)
    return lines


def compiled() -> list[str]:
    """Time power_law over top_k 40 and a draw, in C++ at -O2, taking turns, ratio of medians."""
    compiler = shutil.which("c++")
    if compiler is None:
        return ["not measured: needs a C++ compiler, and no c++ is on the path"]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "power_law"
        source = Path(__file__).parent / "power_law.cpp"
        subprocess.run([compiler, "-std=c++17", "-O2", "-o", program, source], check=True)
        for n in (4_096, 32_000, 128_256):
            done = subprocess.run(
                [program, str(n), "200"], capture_output=True, encoding="utf-8", check=True
            )
            ns = np.array([line.split() for line in done.stdout.splitlines()], float)
            ratio = scipy.stats.bootstrap(
                (ns[:, 0], ns[:, 1]),
                lambda mine, other: np.median(mine) / np.median(other),
                paired=True,
                vectorized=False,
                n_resamples=2_000,
                rng=np.random.default_rng(0),
            ).confidence_interval
            first, second = np.median(ns, axis=0)
            lines.append(
                f"V = {n:,}: {first / second:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] times"
                f" ({first / 1e3:,.0f} and {second / 1e3:,.0f} us)"
            )
    return lines


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "readings": readings,
    "others": others,
    "pruning": pruning,
    "compiled": compiled,
}

if __name__ == "__main__":
    main(__doc__, SECTIONS)
