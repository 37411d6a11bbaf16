"""Cells on samplers of a known distribution, many at a time, through the same looks as a backend's
draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.statistics import independence, look
from sampler_parity.harness.statistics.plan import Errors, looks

_CHUNK = 2000  # runs at a time, to bound memory


@dataclass(frozen=True)
class SimulatedRuns:
    """The decision of each run, and the number of draws before it."""

    different: NDArray[np.bool_]
    equivalent: NDArray[np.bool_]
    draws: NDArray[np.int64]

    @property
    def alarms(self) -> int:
        return int(self.different.sum())


def frequencies(
    rng: np.random.Generator,
    q: NDArray[np.float64],
    p: NDArray[np.float64],
    plan: tuple[int, float, Errors],
    runs: int,
) -> SimulatedRuns:
    """Simulate counts from q against p. plan: the draws, the margin and the errors of the cell."""
    return _join([_frequencies(rng, q, p, plan, size) for size in sizes(runs)])


def _frequencies(
    rng: np.random.Generator,
    q: NDArray[np.float64],
    p: NDArray[np.float64],
    plan: tuple[int, float, Errors],
    runs: int,
) -> SimulatedRuns:
    n, margin, errors = plan
    state = _State(runs)
    counts = np.zeros((runs, len(p)), np.int64)
    before = 0
    for at in looks(n):
        open_ = state.open
        counts[open_] += rng.multinomial(at - before, q, size=int(open_.sum()))
        before = at
        state.put(look.frequencies(counts[open_], p, errors, at == n), errors, margin, at)
        if not state.open.any():
            break
    return state.outcome()


def disagreements(
    rng: np.random.Generator,
    rate: float,
    benign: float,
    plan: tuple[int, float, Errors],
    runs: int,
) -> SimulatedRuns:
    """Simulate coupled draws that disagree at this rate, as many as possible within rounding."""
    n, margin, errors = plan
    state = _State(runs)
    within, beyond = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    before = 0
    for at in looks(n):
        open_ = state.open
        size = int(open_.sum())
        within[open_] += rng.binomial(at - before, min(rate, benign), size=size)
        beyond[open_] += rng.binomial(at - before, max(0.0, rate - benign), size=size)
        before = at
        result = look.disagreements(
            within[open_] + beyond[open_], beyond[open_], at, benign, errors
        )
        state.put(result, errors, margin, at)
        if not state.open.any():
            break
    return state.outcome()


def lags(tokens: NDArray[np.int32], rate: float, alpha: float) -> NDArray[np.bool_]:
    """Return bool[runs]: whether any lag is an alarm, corrected for the number of lags. tokens:
    [runs, n]."""
    usable = [lag for lag in independence.LAGS if 4 * lag <= tokens.shape[-1]]
    alarms = np.zeros(len(tokens), bool)
    for lag in usable:
        matched, n = independence.matches(*independence.pairs(tokens, lag))
        alarms |= independence.p_value(matched, n, rate) <= alpha / len(usable)
    return alarms


class _State:
    """Which runs go on, and how the others ended."""

    def __init__(self, runs: int) -> None:
        self.open = np.ones(runs, bool)
        self._different = np.zeros(runs, bool)
        self._equivalent = np.zeros(runs, bool)
        self._draws = np.zeros(runs, np.int64)

    def put(self, result: look.Look, errors: Errors, margin: float, at: int) -> None:
        which = np.flatnonzero(self.open)
        self._different[which] = result.different(errors)
        self._equivalent[which] = result.equivalent(margin) & ~self._different[which]
        self._draws[which] = at
        self.open = ~(self._different | self._equivalent)

    def outcome(self) -> SimulatedRuns:
        return SimulatedRuns(self._different, self._equivalent, self._draws)


def sizes(runs: int) -> list[int]:
    """Divide the runs into portions that fit into memory."""
    return [min(_CHUNK, runs - at) for at in range(0, runs, _CHUNK)]


def _join(parts: list[SimulatedRuns]) -> SimulatedRuns:
    return SimulatedRuns(
        np.concatenate([part.different for part in parts]),
        np.concatenate([part.equivalent for part in parts]),
        np.concatenate([part.draws for part in parts]),
    )
