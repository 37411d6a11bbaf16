"""Bundles of several configurations, made of literals, for the tests of comparisons and trends."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.artifacts import row_file
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.accuracy import AccuracyResult
from sampler_parity.harness.checks.distribution.record import (
    CellOnBackend,
    Decision,
    DistributionResult,
)
from sampler_parity.harness.checks.invariance import InvarianceResult
from sampler_parity.harness.checks.logits import DecodeResult, Rows, figures
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.maintenance.calibration.calibration_record import CalibrationResult
from tests.support.records import record
from tests.support.report_bundles import MACHINE, case, got, read_back, run_info

DIGESTS = {"parity/top_p": "d1", "parity/dist": "d2"}


def bundle_on(
    folder: Path,
    cases: Mapping[str, Verdict | BackendResult],
    records: tuple[Any, ...] = (),
    backend: str = "llama.cpp",
    suites: dict[str, str] | None = None,
    started: str = "2026-01-01T00:00:00+00:00",
    **machine: Any,
) -> Bundle:
    """Write a bundle of one backend and one machine: a case a verdict, all of parity/top_p."""
    info = run_info(backend, suites=suites or DIGESTS).model_copy(
        update={"machine": MACHINE.model_copy(update=machine), "started": started}
    )
    results = [
        case(name, {backend: outcome if isinstance(outcome, BackendResult) else got(outcome)})
        for name, outcome in cases.items()
    ]
    return read_back(folder, info, results, records)


def cell_on(
    backend: str, decision: Decision, low: float, high: float, name: str = "dist/a"
) -> DistributionResult:
    outcome = CellOnBackend(
        decision=decision, draws=1000, estimate=(low + high) / 2, low=low, high=high
    )
    return DistributionResult(
        id=name,
        suite="parity/dist",
        what="frequency",
        samplers=["dist"],
        n_vocab=32,
        margin=0.1,
        alpha=1e-6,
        beta=1e-6,
        planned=1000,
        backends={backend: outcome},
        required={backend: ["equivalent"]},
    )


def timing_on(backend: str, ns: list[int], name: str = "timing/top_p") -> TimingResult:
    return TimingResult(id=name, sampler="top_p", n_vocab=1000, ns={backend: ns})


def decoded_on(folder: Path, backend: str, last: list[float]) -> DecodeResult:
    """Return a prompt of one token, its logits kept in the folder's artifacts."""
    (folder / "artifacts").mkdir(parents=True, exist_ok=True)
    row: Rows = np.array([last], np.float32)
    np.save(folder / "artifacts" / row_file("logits/a", backend), row[0])
    return DecodeResult(
        id="logits/a",
        model_sha256="m",
        prompt_sha256="p",
        rows=1,
        first=backend,
        kept=True,
        backends={backend: figures(row, row)},
    )


def text_of(tokens: list[int]) -> BackendResult:
    digest = hashlib.sha256(np.array(tokens, np.int32).tobytes()).hexdigest()
    return got(text_sha256=digest)


def two_that_differ(folder: Path) -> tuple[Bundle, Bundle]:
    """Write two bundles with everything that a comparison shows; one case goes from identical to
    reordered.
    """
    first, second = folder / "xeon", folder / "mac"
    backend = "llama.cpp"
    return (
        bundle_on(
            first,
            {"a": "identical", "b": "identical"},
            (
                timing_on(backend, [100, 101, 102]),
                cell_on(backend, "equivalent", 0.0, 0.01),
                decoded_on(first, backend, [0.0, 1.0]),
            ),
        ),
        bundle_on(
            second,
            {"a": got("reordered", stage="top_p"), "b": "identical"},
            (
                timing_on(backend, [300, 303, 306]),
                cell_on(backend, "different", 0.1, 0.2),
                decoded_on(second, backend, [0.0, 1.25]),
            ),
            cpu="Apple M9",
            libc="",
        ),
    )


def calibration(met: bool = True) -> CalibrationResult:
    """Return one claim, one curve and one rule of another project."""
    claims = [{"text": "a fault is caught", "seen": "9 of 10 runs", "met": met}]
    return CalibrationResult.model_validate(record("calibration", claims=claims))


def calibration_in(folder: Path) -> Path:
    return read_back(folder, run_info("reference"), [], [calibration()]).folder


def invariance_in(folder: Path) -> Path:
    """Write a bundle of three backends: one decodes a batch like each text alone, one differs, one
    died.
    """
    result = InvarianceResult.model_validate(record("invariance"))
    return read_back(folder, run_info("x", "y", "z"), [], [result]).folder


def accuracy_in(folder: Path) -> Path:
    """Write a bundle of three backends: one is exact, one is off, one died."""
    results = []
    for sampler in ("top_p", "dist"):
        for n in (32, 128256):
            about = {"id": f"accuracy/normal/{sampler}-V{n}", "sampler": sampler, "n_vocab": n}
            results.append(AccuracyResult.model_validate(record("accuracy", **about)))
    cut = {"mass_share": 1.66e-4, "kept_tokens": -11, "kept_share": -1.63e-4}
    largest = results[1].backends
    largest["y"] = largest["y"].model_copy(update=cut)
    return read_back(folder, run_info("x", "y", "z"), [], results).folder


def ten_bundles(folder: Path, cases: int) -> list[Bundle]:
    """Write bundles of ten machines; from the second on, every seventh case differs."""
    ways: list[Verdict] = ["reordered", "close", "boundary", "diverged"]
    bundles = []
    for machine in range(10):
        results = [
            _wide_case(i, ways[(machine + i) % 4] if machine and i % 7 == 0 else "identical")
            for i in range(cases)
        ]
        info = run_info("llama.cpp", suites=DIGESTS).model_copy(
            update={
                "machine": MACHINE.model_copy(
                    update={
                        "cpu": f"CPU {machine}",
                        "cpu_flags": [f"flag{f}" for f in range(machine, 90 + machine)],
                        "packages": {f"package-{p}": f"1.{machine}" for p in range(20)},
                    }
                )
            }
        )
        timings = [
            timing_on("llama.cpp", [100 + machine + t + r for r in range(15)], f"timing/{t}")
            for t in range(100)
        ]
        cells = [cell_on("llama.cpp", "equivalent", 0.0, 0.05, f"dist/{c}") for c in range(50)]
        bundles.append(read_back(folder / f"machine-{machine}", info, results, [*timings, *cells]))
    return bundles


def _wide_case(i: int, verdict: Verdict) -> CaseResult:
    name = f"top_p/masked-V128256-p0.95-min_keep{i % 5}-seed{i}"
    return case(name, {"llama.cpp": got(verdict, stage="" if verdict == "identical" else "top_p")})
