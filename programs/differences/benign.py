"""Test whether rounding explains that two texts part, by the logits of their common positions.

Benign differences come from other threads, batches, builds or kernels of one model. Three
assumptions about them are tested. Each was measured on two models (4 and 30 layers; half precision,
8 and 4 bits; prompts in parts, two and four sequences, flash attention, caches in half precision):

    size       They are at most a share of the spread of the logits (`--rounding`). Its median was
               1e-3 in half precision, and 3.4e-2 in a quantized model. That one rounds activations
               to 8 bits, so its noise is as large as the error of a quantized matrix.

    direction  At far positions they point to different sides: the mean cosine is at most 0.05, and
               0.3 of that of neighbours, which share cells of the cache. Other weights, another
               temperature and a lost penalty add the same direction everywhere.

    flips      They move each token by itself, like normal noise. The chance that such noise flips a
               token follows from the uniform number and the boundaries of the token's interval. So
               the sum of the chances up to the first flip is exponential with mean 1; it is small
               if something else flipped the token.

The p-value is 3 times the least one (Bonferroni). Noise that fulfils the assumptions is called
larger than rounding in at most ERROR of all cases. Nothing bounds the other error: a change as
small as rounding, or at a few positions, passes as benign.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.programs.recording.replay import DRAWN_BY
from sampler_parity.programs.recording.tokens import RecordedToken
from sampler_parity.reference import Candidates

Floats = NDArray[np.float64]

ERROR = 0.01
ROUNDING = 2.5e-3  # of the spread of the logits, in half precision
_TESTS = 3
_MOST, _COLUMNS = 512, 4096  # Directions are compared at so many positions, for so many tokens.
_FEWEST = 16
_FAR, _NEAR = 10, 3  # distances of positions
_COSINE, _SHARE = 0.05, 0.3  # The mean cosine of far positions is at most this share of near ones.
_DIRECTIONS = 10  # Noise is free in so many at least: 10 to 160 were measured.
_TRIMMED, _TRIMMED_STD = 0.02, 0.934  # Normal noise has this deviation without its largest 2%.


@dataclass(frozen=True)
class Likelihood:
    """How likely a parting is benign. positions: with equal contexts, the parting included. noise:
    the median size of the differences, of the spread of the logits. cosine: the mean one of far
    positions. expected: flips by noise of the size at each position. chance: at the parting.
    p_values: by assumption; 0 by replay if the texts part with equal logits, too."""

    positions: int
    noise: float
    cosine: float
    expected: float
    chance: float
    p_values: dict[str, float] = field(default_factory=dict)

    @property
    def p(self) -> float:
        return min(1.0, _TESTS * self.p_values[self.least])

    @property
    def least(self) -> str:
        """The assumption that fits least."""
        return min(self.p_values, key=lambda name: self.p_values[name])

    @property
    def verdict(self) -> str:
        return "benign" if self.p > ERROR else "larger than rounding"


def chance_of_flip(logits: Floats, p: Floats, chosen: Any, u: Any, sigma: Any) -> Floats:
    """Return the chance that normal noise changes the token. logits, p: float64[..., S] of the
    survivors, in the order of the draw; chosen, u, sigma: [...]. A u of nan: greedy."""
    k, x = np.asarray(chosen)[..., None], np.asarray(u, np.float64)[..., None]
    at, sd = np.arange(p.shape[-1]), np.asarray(sigma)[..., None]
    own, ends = np.take_along_axis(p, k, -1), p.cumsum(-1)
    high = np.take_along_axis(ends, k, -1)
    chance = np.zeros(p.shape[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        for edge, before, gap in ((high - own, at < k, 0), (high, at <= k, 1)):
            moved = sd * np.sqrt((p**2 * (before - edge) ** 2).sum(-1, keepdims=True))
            inner = (k + gap > 0) & (k + gap < p.shape[-1])
            beyond = scipy.special.ndtr(-abs(x - edge) / moved)
            chance += np.where(inner & (moved > 0), np.nan_to_num(beyond), 0)[..., 0]
        gaps = abs(logits - np.take_along_axis(logits, k, -1)) / (sd * 2**0.5)
        # Two tokens that exchange their places in the order exchange their intervals.
        crossing = (np.where(at < k, high - x < p, x - high + own < p) | np.isnan(x)) & (at != k)
        chance += np.where(crossing & (sd > 0), scipy.special.ndtr(-gaps), 0).sum(-1)
    return np.minimum(chance, 1.0)


def flips_p_value(chances: Floats) -> Any:
    """Return the chance of a flip up to the last position. chances: [..., n]."""
    return 1 - np.prod(1 - chances, axis=-1)


def size_p_value(noise: Any, rounding: float) -> Any:
    """Return the p-value of a size, of noise with few free directions."""
    return scipy.stats.chi2.sf(_DIRECTIONS * (np.asarray(noise) / rounding) ** 2, _DIRECTIONS)


def cosine_and_p_value(rows: Floats) -> tuple[float, float]:
    """Return the mean cosine of far positions, and its p-value. rows: [n, tokens], of length 1."""
    n = len(rows)
    if n < _FEWEST:
        return 0.0, 1.0
    cosines = rows @ rows.T
    distance = np.subtract.outer(np.arange(n), np.arange(n))
    of_far = cosines[distance >= _FAR]
    at = [cosines[distance == i].mean() for i in range(1, _FAR)]
    shared = min(_COSINE, _SHARE * max(0.0, float(np.mean(at[:_NEAR]))))
    near = 1 + 2 * max(0.0, float(np.sum(at)))  # neighbours are no independent positions
    directions = min(max(_DIRECTIONS / 2, 1 / of_far.var()), rows.shape[1])
    excess = (near + n * of_far.mean()) / (near + n * shared)
    return float(of_far.mean()), float(scipy.stats.chi2.sf(directions * excess, directions))


class Noise:
    """The differences of logits, position by position."""

    def __init__(self) -> None:
        self.sizes: list[float] = []
        self.chances: list[float] = []
        self.rows: deque[Floats] = deque(maxlen=_MOST)

    def add(self, a: RecordedToken, b: RecordedToken) -> None:
        """Take in a position with equal contexts; none without both rows of logits."""
        rows = [token.stages[0].before if token.stages else None for token in (a, b)]
        if rows[0] is None or rows[1] is None or not np.array_equal(rows[0].ids, rows[1].ids):
            return
        sigma = self.measure(rows[0].logits, rows[1].logits)
        self.chances.append(_chance(a, rows[0], sigma))

    def measure(self, a: NDArray[Any], b: NDArray[Any]) -> float:
        """Take in the logits of a position: float[n_vocab]. Return the size of their differences,
        by some thousand tokens; at least that of the last bit."""
        a, b = (row[:: max(1, len(row) // _COLUMNS)].astype(np.float64) for row in (a, b))
        finite = np.isfinite(a) & np.isfinite(b)
        difference, spread = b[finite] - a[finite], a[finite].std() if finite.any() else 0.0
        self.sizes.append(float(difference.std() / spread) if spread else 0.0)
        row = np.zeros(len(a))  # as long at each position, whatever is banned there
        row[finite] = difference - difference.mean() if len(difference) else difference
        if length := np.linalg.norm(row):
            self.rows.append(row / length)
        last_bit = float(np.spacing(np.float32(abs(a[finite]).max(initial=0))))
        return max(trimmed_std(difference), last_bit)

    def likelihood(self, rounding: float, is_by_logits: bool) -> Likelihood | None:
        """Judge the parting, the last position. is_by_logits: its cause. None without logits."""
        if not self.sizes:
            return None
        sizes = [size for size in self.sizes if size] or [0.0]
        noise, chances = float(np.median(sizes)), np.array(self.chances)
        cosine, directed = cosine_and_p_value(np.array(self.rows))
        p_values = {
            "size": float(size_p_value(noise, rounding)),
            "direction": directed,
            "flips": float(flips_p_value(chances)),
        }
        p_values = p_values if is_by_logits else {"replay": 0.0}
        expected = float(chances.sum())
        return Likelihood(len(self.sizes), noise, cosine, expected, self.chances[-1], p_values)


def trimmed_std(difference: Floats) -> float:
    """Return the standard deviation of normal noise, whatever a few tokens have besides."""
    n = len(difference) - int(np.ceil(_TRIMMED * len(difference)))
    if n <= 0:
        return 0.0
    least = np.sort(abs(difference - np.median(difference)))[:n]
    return float(np.sqrt((least**2).mean()) / _TRIMMED_STD)


def _chance(token: RecordedToken, row: Candidates, sigma: float) -> float:
    """Return the chance that noise of a size flips a token."""
    names = {*DRAWN_BY, "greedy"}
    drawing = next((s for s in reversed(token.stages) if s.recorded.name in names), None)
    before = None if drawing is None else drawing.before
    is_greedy = drawing is not None and drawing.recorded.name == "greedy"
    if before is None or len(before) < 2 or (token.draw is None and not is_greedy):
        return 0.0
    at, logits = np.flatnonzero(before.ids == token.token), before.logits.astype(np.float64)
    if not len(at) or not np.isfinite(logits).all():
        return 0.0
    table = np.zeros(1 + max(row.ids.max(), before.ids.max()))
    table[row.ids] = row.logits
    spread = table[before.ids].std()
    gain = logits.std() / spread if spread else 1.0
    p = np.exp(logits - logits.max())
    u = np.nan if token.draw is None else token.draw.u
    return float(chance_of_flip(logits, p / p.sum(), at[0], u, sigma * gain))
