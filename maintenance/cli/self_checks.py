"""Run `calibrate` and `timing-selfcheck`, which write a bundle without a suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.records import TimingCheckResult
from sampler_parity.harness.bundle.writer import BundleWriter, create
from sampler_parity.harness.cli.bundle_summary import show
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run.run import finish
from sampler_parity.harness.run.started import Intent, absent_of, describe
from sampler_parity.harness.run.started import backend as started
from sampler_parity.maintenance.calibration.calibration_record import CalibrationResult


def run_calibration(folder: Path, runs: int, null_runs: int, seed: int, backend: str) -> bool:
    """Run the calibration; return whether every claim is met."""
    from sampler_parity.maintenance.calibration import distribution_calibration as calibration
    from sampler_parity.maintenance.calibration import (
        distribution_calibration_timed as calibration_timed,
    )

    with _bundle(folder, seed, [backend] if backend else []) as writer:
        result = calibration.calibrate(seed, runs, null_runs)
        if backend:
            result = calibration_timed.with_times(result, started(backend, 600.0))
        _end(writer, result)
    return all(claim.met for claim in result.claims)


def run_timing_selfcheck(folder: Path, trials: int, seed: int) -> bool:
    """Check the timings; return whether false alarms are as rare as allowed."""
    from sampler_parity.maintenance.calibration import timing_selfcheck as selfcheck

    with _bundle(folder, seed, [selfcheck.NATIVE]) as writer:
        result = selfcheck.selfcheck(trials, seed, print_line)
        _end(writer, result)
    return result.met


@contextmanager
def _bundle(folder: Path, seed: int, names: list[str]) -> Iterator[BundleWriter]:
    """Open a new bundle. Raises InputError if a backend does not run here."""
    releases = registry.references(names, None)
    info = describe(Intent(releases, seed=seed))
    for name, reason in absent_of(info.backends, names).items():
        raise InputError(f"backend {name}", f"does not run here: {reason}")
    with locked(folder):
        yield create(folder, info)


def _end(writer: BundleWriter, result: CalibrationResult | TimingCheckResult) -> None:
    writer.append(result)
    show(finish(writer, result.wall_s))
