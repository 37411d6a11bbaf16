"""Check the stated error rates of the tests: null runs, faults of a known size, other engines'
rules.

`sampler-parity calibrate` runs it. All of it is seeded simulation on known distributions, except
the time that llama.cpp needs, which is measured.
"""

import time

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.statistics import coupled, tail, tv
from sampler_parity.harness.statistics.independence import repeat_rate
from sampler_parity.harness.statistics.plan import Budget, Errors, coupled_draws, draws_for
from sampler_parity.maintenance.calibration import distribution_power, peers, simulate, wrong
from sampler_parity.maintenance.calibration.calibration_record import (
    CalibrationResult,
    Claim,
    Curve,
    PeerRow,
)

CELLS = 40  # of a run: its budget is shared by so many; suites/distribution has fewer
LOOSE = Errors(alpha=0.05, beta=1e-4)  # loose, to show too many false alarms
_LAG_DRAWS = 8192  # disjoint pairs at the largest lag, 1024


def calibrate(seed: int, runs: int = 1000, null_runs: int = 10_000) -> CalibrationResult:
    """Run the calibration. runs: of every fault; null_runs: of every cheap cell with a correct
    sampler."""
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    errors = Budget(CELLS).each
    small, large = rng.normal(0, 3, 32), rng.normal(0, 3, 128_256)
    claims = [
        *_null(rng, small, large, errors, null_runs, "of the run's budget", allowed=0.0),
        *_null(rng, small, large, LOOSE, runs, "at the level 0.05", allowed=0.05),
        _small_vocabulary(rng, small, errors, runs),
        *_large_vocabulary(rng, large, errors, runs),
        *(_hotter(rng, logits, errors, runs) for logits in (small, large)),
    ]
    curves: dict[str, list[Curve]] = {
        "frequencies, V = 32": distribution_power.frequency_curves(rng, small, errors, runs),
        "coupled draws, V = 32": distribution_power.coupled_curves(rng, small, errors, runs),
        "coupled draws, V = 128,256": distribution_power.coupled_curves(rng, large, errors, runs),
        "repeats, V = 32": [
            distribution_power.repeat_curve(rng, small, errors, max(1, runs // 20))
        ],
    }
    return CalibrationResult(
        seed=seed,
        alpha=errors.alpha,
        claims=claims,
        curves=curves,
        peers=_peers(rng, runs),
        wall_s=time.perf_counter() - start,
    )


def _claim(text: str, count: int, runs: int, at_least: float | None, allowed: float) -> Claim:
    """Return a claim about a count: at least a share is caught, or at most a share alarms."""
    met = count >= at_least * runs if at_least is not None else count <= allowed * runs
    return Claim(text=text, seen=f"{count:,} of {runs:,} runs", met=bool(met))


def _null(
    rng: np.random.Generator,
    small: NDArray[np.float64],
    large: NDArray[np.float64],
    errors: Errors,
    runs: int,
    level: str,
    allowed: float,
) -> list[Claim]:
    """Return the false alarms of a correct sampler, for each kind of cell."""
    p, full = wrong.softmax(small), wrong.softmax(large)
    plan = (draws_for(0.005, p, errors), 0.005, errors)
    alarms = {
        "frequencies, V = 32": simulate.frequencies(rng, p, p, plan, runs).alarms,
        "coupled draws, V = 32": _coupled_null(rng, p, errors, runs),
        "coupled draws, V = 128,256": _coupled_null(rng, full, errors, runs),
        "tail, V = 131,072": _tail_null(rng, errors, runs),
        "repeats, V = 32": _lag_null(rng, p, errors, runs),
    }
    return [
        _claim(f"no more false alarms than {level}: {name}", n, runs, None, allowed)
        for name, n in alarms.items()
    ]


def _coupled_null(
    rng: np.random.Generator, p: NDArray[np.float64], errors: Errors, runs: int
) -> int:
    """Count the false alarms with as many disagreements as rounding can cause."""
    benign = coupled.benign_rate(coupled.edges(p), 1.0)
    n = coupled_draws(max(0.01, 2 * benign), benign, errors)
    assert n is not None
    return simulate.disagreements(rng, benign, benign, (n, 0.01, errors), runs).alarms


def _tail_null(rng: np.random.Generator, errors: Errors, runs: int) -> int:
    tokens, mass = 131_071, 0.0385  # 15 nats below the top
    n = tail.draws_for(3.0, mass, errors)
    hits = rng.binomial(n, mass, size=runs)
    drawn = [rng.integers(tokens, size=h, dtype=np.int32) for h in hits]
    repeats = np.array([tail.repeats(t) for t in drawn])
    worst = np.minimum(
        tail.total_p_value(hits, n, mass), tail.repeats_p_value(repeats, hits, 1 / tokens)
    )
    return int((2 * worst <= errors.alpha).sum())


def _lag_null(rng: np.random.Generator, p: NDArray[np.float64], errors: Errors, runs: int) -> int:
    return int(
        sum(
            simulate.lags(wrong.drawn(rng, p, size, _LAG_DRAWS), repeat_rate(p), errors.alpha).sum()
            for size in simulate.sizes(runs)
        )
    )


def _small_vocabulary(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> Claim:
    p = wrong.softmax(logits)
    n = draws_for(0.005, p, errors)
    q = wrong.shifted(p, 0.005)
    caught = simulate.frequencies(rng, q, p, (n, 0.005, errors), runs).alarms
    text = f"a total variation of 0.005 at V = 32, as thin as can be, is caught ({n:,} draws)"
    return _claim(text, caught, runs, 0.999, 0)


def _large_vocabulary(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> list[Claim]:
    p = wrong.softmax(logits)
    benign = coupled.benign_rate(coupled.edges(p), 1.0)
    n = coupled_draws(0.01, benign, errors)
    if n is None:
        text = "rounding stays below 0.01 at V = 128,256"
        return [Claim(text=text, seen=f"a rate of {benign:.3g}", met=False)]
    outcome = simulate.disagreements(rng, 0.01, benign, (n, 0.01, errors), runs)
    ranked = tv.by_rank(p, 64)
    q = wrong.softmax(logits / _temperature(logits, 0.01))
    binned = np.bincount(ranked.of_token, weights=q).astype(np.float64)
    drawn = draws_for(0.01, ranked.p, errors)
    by_rank = simulate.frequencies(rng, binned, ranked.p, (drawn, 0.01, errors), runs).alarms
    return [
        _claim(
            "a total variation of 0.01 at V = 128,256, whatever its shape, is caught by coupled"
            f" draws (at most {outcome.draws.max():,} were needed)",
            outcome.alarms,
            runs,
            0.999,
            0,
        ),
        _claim(
            "a temperature that makes a total variation of 0.01 at V = 128,256 is caught by the"
            f" frequencies of 64 bins by rank ({drawn:,} draws)",
            by_rank,
            runs,
            0.999,
            0,
        ),
    ]


def _temperature(logits: NDArray[np.float64], distance: float) -> float:
    """Return the temperature whose distribution has this distance from that of 1."""
    p = wrong.softmax(logits)
    low, high = 1.0, 2.0
    for _ in range(40):  # bisection, to 2^-40
        middle = (low + high) / 2
        below = tv.between(wrong.softmax(logits / middle), p) < distance
        low, high = (middle, high) if below else (low, middle)
    return high


def _hotter(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> Claim:
    p = wrong.softmax(logits)
    benign = coupled.benign_rate(coupled.edges(p), 1.0)
    rate = wrong.disagreement(p, wrong.hotter(logits))
    outcome = simulate.disagreements(rng, rate, benign, (2500, 0.0, errors), runs)
    text = (
        f"T = 1.01 at V = {len(p):,} is rejected within 2,500 coupled draws"
        f" (at most {outcome.draws.max():,} were needed)"
    )
    return _claim(text, outcome.alarms, runs, 0.999, 0)


def _peers(rng: np.random.Generator, runs: int) -> list[PeerRow]:
    """Return each rule on its own kind of logits, and this harness's own on those of vLLM's."""
    rules = peers.rules(rng)
    ours = peers.ours(rules[0].logits, Budget(CELLS).each)
    faults = {"none": wrong.softmax, **wrong.FAULTS}
    faults["temperature 10% off"] = lambda logits: wrong.softmax(logits / 1.10)
    return [
        PeerRow(
            fault=fault,
            tv={
                rule.name: peers.distance(rule, distribution(rule.logits))
                for rule in [*rules, ours]
            },
            passed={
                rule.name: peers.let_through(rng, rule, distribution(rule.logits), runs)
                for rule in [*rules, ours]
            },
            runs={rule.name: runs for rule in [*rules, ours]},
        )
        for fault, distribution in faults.items()
    ]
