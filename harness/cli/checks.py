"""What `calibrate` and `timing-selfcheck` do: they write a bundle without a suite."""

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.bundle.records.ends import Footer
from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.cli.suites import available
from sampler_parity.harness.run import cases as run
from sampler_parity.reports.write import summary_lines


def run_calibration(folder: Path, runs: int, null_runs: int, seed: int, backend: str) -> bool:
    """Whether every claim is met."""
    from sampler_parity.harness.distribution import calibration, calibration_timed

    writer = _begin(folder, seed, [backend] if backend else [])
    result = calibration.calibrate(seed, runs, null_runs)
    if backend:
        result = calibration_timed.with_times(result, run.backend(backend, 600.0))
    _end(writer, result)
    return all(claim.met for claim in result.claims)


def run_timing_selfcheck(folder: Path, trials: int, seed: int) -> bool:
    """Whether false alarms are as rare as allowed."""
    from sampler_parity.harness.timing import selfcheck

    writer = _begin(folder, seed, [selfcheck.NATIVE])
    result = selfcheck.selfcheck(trials, seed, partial(print, flush=True))
    _end(writer, result)
    return result.met


def _begin(folder: Path, seed: int, names: list[str]) -> bundle.BundleWriter:
    releases = registry.references(names, None)
    command = ["sampler-parity", *sys.argv[1:]]
    info = run.describe(version("sampler-parity"), command, {}, "full", seed, releases)
    if names:
        available(info.backends, releases)
    return bundle.create(folder, info)


def _end(writer: bundle.BundleWriter, result: CalibrationResult | TimingCheckResult) -> None:
    writer.append(result, Footer(cases=0, steps=0, wall_s=result.wall_s))
    for line in summary_lines(bundle.read_finished(writer.folder)):
        print(line)
    print(f"bundle   {writer.folder}")
