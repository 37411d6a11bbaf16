"""Measure how long a real backend needs to decide a coupled cell at a real vocabulary size."""

import time
from dataclasses import replace

from sampler_parity.harness.checks.distribution.block import Coupled
from sampler_parity.harness.checks.distribution.draws import Source
from sampler_parity.harness.checks.distribution.record import Decision
from sampler_parity.harness.checks.distribution.run import Planned, coupled_disagreements, plan_cell
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.maintenance.calibration.calibration_record import CalibrationResult, Claim
from sampler_parity.maintenance.calibration.distribution_calibration import CELLS

LIMIT_S = 60.0  # a user waits a minute for a fault to be caught, and no longer: by choice
_DIST = {"dist": {"seed": 1}}
_CELL = Coupled(
    id="timed",
    description="A whole vocabulary, equal uniforms",
    why="the time of a decision",
    chain=[_DIST],
    logits=GeneratedLogits(family="normal", n=128_256, seed=5),
    margin=0.01,
)


def with_times(result: CalibrationResult, backend: Backend) -> CalibrationResult:
    """Return the result with two more claims. Raises BackendFailure."""
    planned = plan_cell(_CELL, prepare(_CELL.case()), Budget(CELLS).each)
    hotter: ChainSpec = [{"temp": {"temp": 1.01}}, _DIST]
    claims = [
        _claim(planned, [_DIST], backend, "equivalent", "a right sampler is bounded"),
        _claim(planned, hotter, backend, "different", "T = 1.01 is rejected"),
    ]
    return result.model_copy(update={"claims": [*result.claims, *claims]})


def _claim(
    planned: Planned, chain: ChainSpec, backend: Backend, expected: Decision, text: str
) -> Claim:
    """Return the claim of a chain that is judged by the distribution of the planned chain."""
    prepared = replace(planned.prepared, chain=chain)
    source = Source(prepared, backend, 0, prepared.case.logits.n)
    start = time.perf_counter()
    outcome = coupled_disagreements(planned, source)
    seconds = time.perf_counter() - start
    return Claim(
        text=f"{text} at V = 128,256 on {backend.name}, one core, within {LIMIT_S:g} s",
        seen=f"{outcome.decision} after {outcome.draws:,} draws and {seconds:.1f} s",
        met=outcome.decision == expected and seconds <= LIMIT_S,
    )
