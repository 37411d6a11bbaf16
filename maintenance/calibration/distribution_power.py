"""Power curves: how often each wrong sampler is caught, by number of draws."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.statistics import coupled, tv
from sampler_parity.harness.statistics.independence import repeat_rate
from sampler_parity.harness.statistics.plan import Errors
from sampler_parity.maintenance.calibration import simulate, wrong
from sampler_parity.maintenance.calibration.calibration_record import Curve

FREQUENCY_DRAWS = tuple(int(10 ** (3 + i / 3)) for i in range(12))  # 1,000 ... 4.6 million
COUPLED_DRAWS = (4, 10, 25, 60, 150, 400, 1000, 2500, 6000)
REPEAT_DRAWS = (30_000, 100_000, 300_000, 1_000_000, 3_000_000)


def frequency_curves(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> list[Curve]:
    """Return the runs caught by each number of draws, by counts over all tokens."""
    p = wrong.softmax(logits)
    return [
        Curve(
            fault=fault,
            tv=tv.between(distribution(logits), p),
            draws=list(FREQUENCY_DRAWS),
            caught=[
                simulate.frequencies(rng, distribution(logits), p, (n, 0.0, errors), runs).alarms
                for n in FREQUENCY_DRAWS
            ],
            runs=runs,
        )
        for fault, distribution in wrong.FAULTS.items()
    ]


def coupled_curves(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> list[Curve]:
    """Return the runs caught by each number of draws under equal uniforms."""
    p = wrong.softmax(logits)
    benign = coupled.benign_rate(coupled.edges(p), 1.0)
    curves = []
    for fault, distribution in wrong.FAULTS.items():
        rate = wrong.disagreement(p, distribution(logits))
        caught = [
            simulate.disagreements(rng, rate, benign, (n, 0.0, errors), runs).alarms
            for n in COUPLED_DRAWS
        ]
        curves.append(
            Curve(
                fault=fault,
                tv=tv.between(distribution(logits), p),
                draws=list(COUPLED_DRAWS),
                caught=caught,
                runs=runs,
            )
        )
    return curves


def repeat_curve(
    rng: np.random.Generator, logits: NDArray[np.float64], errors: Errors, runs: int
) -> Curve:
    """Return the curve of a reused uniform number: correct distribution, repeated draws."""
    p = wrong.softmax(logits)
    caught = [
        int(
            sum(
                simulate.lags(wrong.repeating(rng, p, 1, n), repeat_rate(p), errors.alpha).sum()
                for _ in range(runs)
            )
        )
        for n in REPEAT_DRAWS
    ]
    return Curve(
        fault="repeated uniform", tv=0.0, draws=list(REPEAT_DRAWS), caught=caught, runs=runs
    )
