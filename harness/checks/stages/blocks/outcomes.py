"""Outcomes: parameters solved so that what a stage does stands on a ladder.

A ladder of parameters meets a table, a buffer or a first block of a partial sort only by chance. An
[[outcomes]] block chooses the result, such as 256 survivors, and solves the parameter in float64:
it lies half way between those that leave one token more and one fewer. Gaps between logits stand at
the limits of exp in float32: below 87.3 nats p is subnormal, below 103.3 it is 0. The smallest gap
is one ULP: the next float32.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock, fill
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import meant
from sampler_parity.reference.registry import ROWS

_N = 1030  # past the largest first block of a partial sort that a release has
_MOST = 4096  # tokens of a row, all of which are literal
_STEP = 0.002  # nats between two logits: a cut is 300 times farther away than float32 rounds
_GAPS = (20.0, 86.0, 87.3, 88.0, 88.8, 95.0, 102.0, 103.2, 103.3, 104.0, 105.0, np.inf)
_LIKELY = (1, 3, 7)  # tokens above the gap, of eight
_ULPS = (1, 2, 3)  # between one logit and the next, below 8
_NOT_COUNTED = ("mirostat_v2", "top_n_sigma")  # one draws from the survivors, one masks the others

Row = NDArray[np.float64]


def _p(row: Row) -> Row:
    weights = np.exp(row - row[0])
    p: Row = weights / weights.sum()
    return p


def _between(values: Row, m: int) -> float:
    """Return the number half way between those of the last survivor and of the next token."""
    following = values[m] if m < len(values) else 2 * values[-1] - values[-2]
    return float((values[m - 1] + following) / 2)


def _top_p(row: Row, m: int) -> dict[str, Any]:
    return {"p": _between(np.concatenate(([0.0], np.cumsum(_p(row)))), m)}


def _typical_p(row: Row, m: int) -> dict[str, Any]:
    p = _p(row)
    surprise = -np.log(p)
    order = np.argsort(abs(surprise - (p * surprise).sum()))
    return {"p": _between(np.concatenate(([0.0], np.cumsum(p[order]))), m)}


def _min_p(row: Row, m: int) -> dict[str, Any]:
    return {"p": float(np.exp(_between(row, m) - row[0]))}


def _xtc(row: Row, m: int) -> dict[str, Any]:
    """Leave m: all above the threshold go but the last, so n - m + 1 are above it."""
    return {"p": 1.0, "t": _between(_p(row), len(row) - m + 1), "seed": 1}


def _top_n_sigma(row: Row, m: int) -> dict[str, Any]:
    return {"n": float((row[0] - _between(row, m)) / row.std())}


def _mirostat_v2(row: Row, m: int) -> dict[str, Any]:
    """Cut at 2 tau bits, with which mu begins."""
    return {"seed": 1, "tau": _between(-np.log2(_p(row)), m) / 2, "eta": 0.1}


SOLVED: dict[str, Callable[[Row, int], dict[str, Any]]] = {
    "top_k": lambda row, m: {"k": m},
    "top_p": _top_p,
    "min_p": _min_p,
    "typical_p": _typical_p,
    "xtc": _xtc,
    "top_n_sigma": _top_n_sigma,
    "mirostat_v2": _mirostat_v2,
}


class ChosenOutcomes(NamedBlock):
    """Numbers of survivors, and gaps between logits, for each sampler that has them."""

    survivors: list[int] = []
    """numbers of survivors; below 0: so many fewer than all of 1,030"""
    quick_survivors: list[int] = []
    """the same in the quick profile"""
    gaps: bool = False
    """instead: rows with a gap of 20 to 105 nats, with -inf, and with gaps of 1 to 3 ULPs"""
    samplers: list[str] = []
    """samplers to use; none: all that have such outcomes"""
    tokens: int = Field(default=0, ge=0, le=_MOST)
    """tokens of a row; 0: 1,030, or eight around gaps"""
    before: ChainSpec = []
    """with `gaps`: stages in front of each sampler"""

    def items(self, quick: bool) -> Iterator[Case]:
        supported = [name for name in of_newest() if ROWS[name].edges is not None]
        for name in self.samplers:
            if name not in (supported if self.gaps else SOLVED):
                raise ValueError(
                    f"samplers: no outcomes can be chosen for {name!r}: {meant(name, SOLVED)}"
                )
        if self.gaps:
            yield from (self._gaps(name) for name in self.samplers or supported)
        for m in self.quick_survivors if quick else self.survivors:
            for name in self.samplers or SOLVED:
                yield self._survivors(name, SOLVED[name], m)

    def _survivors(self, name: str, solve: Callable[..., dict[str, Any]], m: int) -> Case:
        n = self.tokens or _N
        survivors = m if m > 0 else n + m
        rng = np.random.default_rng(survivors + self.tokens)
        row = -_STEP * (np.arange(n) + rng.uniform(0, 0.3, n))
        row = row.astype(np.float32).astype(np.float64)
        return case_from(
            self.about(f"{name}/{survivors}"),
            chain=[{name: solve(row, survivors)}, *_selecting(name)],
            logits={"rows": [rng.permutation(row).tolist()]},
            expect=None if name in _NOT_COUNTED else {"n": survivors},
            tags=["noop"],
        )

    def _gaps(self, name: str) -> Case:
        n = self.tokens or 8
        rng = np.random.default_rng(len(name) + self.tokens)
        rows = []
        for gap in _GAPS:
            for likely in _LIKELY:
                row = -0.25 * np.arange(n)
                row[likely:] -= gap
                rows.append(rng.permutation(row).tolist())
        for ulps in _ULPS:
            row = 8 - ulps * 2.0**-21 * np.arange(1, n + 1)
            rows += [rng.permutation(row).tolist() for _ in range(3)]
        return case_from(
            self.about(name),
            chain=[*self.before, {name: fill(dict(ROWS[name].smallest), {}, n)}, *_selecting(name)],
            logits={"rows": rows},
            steps=len(rows),
            tags=["noop"],
        )


def _selecting(name: str) -> list[dict[str, Any]]:
    return [] if ROWS[name].kind == "select" else [{"dist": {"seed": 5}}]
