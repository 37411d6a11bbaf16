"""Draw which cuts of top_p are correct: one that rounding reaches, and an exact one."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.correct.bounds import of_sum
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.top_p import TopP
from scripts.reference.pictures import STYLE, WIDTH, text

Reals = NDArray[np.float64]

LEFT, RIGHT, TOP, BASE = 64, 24, 56, 236
COLOURS = (
    ".band{fill:#0969da;opacity:.18}.wrong{fill:#cf222e}.limit{stroke:#d4660a;stroke-dasharray:5}"
)
V, P = 128_256, 0.9


class Axes:
    """The place of x (tokens that stay) and y (their mass) in the picture."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.low, self.span = np.array([x[0], y[0]]), np.array([x[1] - x[0], y[1] - y[0]])

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = (np.array([x, y]) - self.low) / self.span
        return LEFT + float(across) * (WIDTH - LEFT - RIGHT), BASE - float(up) * (BASE - TOP)

    def line(self, xs: Sequence[float] | NDArray[Any], ys: Sequence[float] | Reals) -> str:
        places = [self.at(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def files() -> dict[str, str]:
    """Return both pictures by the end of their names."""
    return {"reachable": reachable(), "exact": exact()}


def reachable() -> str:
    """Return the running mass of a large row, the error that its float32 sum may have, and cuts."""
    row = np.random.default_rng(20).normal(0, 3, V).astype(np.float32)
    weights = np.sort(np.exp(row.astype(np.float64) - row.max()))[::-1]
    mass = np.cumsum(weights) / weights.sum()
    right, kept = int((mass < P).sum()) + 1, llama_cpp(row)
    count = np.arange(1, V + 1)
    error = np.array([of_sum(int(n), Arithmetic()) for n in count[: 2 * right]]) * mass[: 2 * right]
    low, high = mass[: 2 * right] - error, mass[: 2 * right] + error
    first, last = int((high < P).sum()) + 1, int((low < P).sum()) + 1
    near = slice(first - 12, last + 12)
    xs = count[near]
    axes = Axes((xs[0], xs[-1]), (float(low[near][0]), float(high[near][-1])))
    band = axes.line([*xs, *xs[::-1]], [*low[near], *high[near][::-1]])
    lines = [
        f'<path class="band" d="{band}Z"/>',
        f'<path d="{axes.line(xs, mass[near])}" fill="none" class="line"/>',
        *_threshold(axes, P, "p = 0.9"),
        *_dot(axes, kept, float(mass[kept - 1]), f"llama.cpp keeps {kept:,}", "kept", 26),
        *_dot(axes, right, float(mass[right - 1]), f"exact sum keeps {right:,}", "chosen", -16),
        *_counts(axes, (first, last)),
    ]
    title = (
        f"A reachable cut: with float32 sums in any order, {first:,} to {last:,} tokens are correct"
    )
    return _svg(title, lines)


def llama_cpp(row: NDArray[np.float32]) -> int:
    """Return how many tokens the reference keeps: its bits are llama.cpp's."""
    cand = Candidates.from_logits(row)
    TopP(P).apply(cand)
    return len(cand)


def exact() -> str:
    """Return four equal tokens: no sum is rounded, so two stay in every arithmetic."""
    axes = Axes((0.5, 4.5), (0.0, 1.1))
    names = {1: "wrong", 2: "kept", 3: "wrong", 4: "wrong"}
    lines = [
        *_threshold(axes, 0.5, "p = 0.5"),
        *(part for n, kind in names.items() for part in _dot(
            axes, n, n / 4, f"{n / 4:g}: {'correct' if n == 2 else 'wrong'}", kind, -14)),
        *_counts(axes, (1, 2, 3, 4)),
    ]  # fmt: skip
    return _svg("An exact cut: four equal tokens; in every arithmetic exactly two reach 0.5", lines)


def _threshold(axes: Axes, p: float, label: str) -> Iterator[str]:
    _, y = axes.at(0, p)
    yield f'<path class="limit" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
    yield text(6, y + 4, label, "small")


def _dot(axes: Axes, n: int, mass: float, label: str, kind: str, away: int) -> Iterator[str]:
    x, y = axes.at(n, mass)
    yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    yield text(x, y + away, label, middle=True)


def _counts(axes: Axes, numbers: Sequence[int]) -> Iterator[str]:
    yield f'<path class="line" d="M{LEFT} {BASE}H{WIDTH - RIGHT}"/>'
    for n in numbers:
        x, _ = axes.at(n, 0)
        yield f'<path class="line" d="M{x:.1f} {BASE}v6"/>'
        yield text(x, BASE + 20, f"{n:,}", "small", middle=True)
    yield text(WIDTH / 2, BASE + 38, "tokens that stay", "small", middle=True)


def _svg(title: str, lines: Sequence[str]) -> str:
    height = BASE + 50
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}{COLOURS}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height}" rx="6"/>',
            text(16, 22, title),
            *lines,
            "</svg>\n",
        ]
    )
