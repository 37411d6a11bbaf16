"""Small bundles made of literals, for the tests of reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.bundle.info import BackendInfo, Footer, MachineInfo, RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.timed_records import SkipRatioResult, TimingResult
from sampler_parity.harness.verdicts import Verdict
from tests.support.records import record

HOSTILE = "<script>alert(1)</script>&\"'|`*_[x](y)\x00\x1b[31m\u202e\n@you"

MACHINE = MachineInfo.model_validate(record("machine"))


def run_info(*backends: str, seed: int = 0, suites: dict[str, str] | None = None) -> RunInfo:
    return RunInfo(
        version="0.1.0",
        started="2026-01-01T00:00:00+00:00",
        command=["sampler-parity", "run", "parity"],
        suites=suites or {},
        profile="quick",
        seed=seed,
        backends={
            name: BackendInfo(
                command=["python", "-m", "sampler_parity.harness.backends.worker", name],
                version="1.0",
            )
            for name in backends
        },
        machine=MACHINE,
    )


def got(verdict: Verdict = "identical", **fields: Any) -> BackendResult:
    return BackendResult(verdict=verdict, **fields)


def diverged(**fields: Any) -> BackendResult:
    """Return a result: p differs at rank 7 (id 4711) after top_p, the third of five stages, in step
    1.
    """
    return BackendResult.model_validate(record("diverged", **fields))


def case(name: str, backends: dict[str, BackendResult], **fields: Any) -> CaseResult:
    """Return a case. Defaults: suite parity/top_p, chain top_p, one step, identical required."""
    defaults: dict[str, Any] = {
        "suite": "parity/top_p",
        "samplers": ["top_p"],
        "steps": 1,
        "required": {backend: ["identical"] for backend in backends},
    }
    return CaseResult(id=name, backends=backends, **(defaults | fields))


def write_bundle(
    folder: Path, info: RunInfo, cases: list[CaseResult], timings: list[TimingResult] | None = None
) -> Path:
    writer = create(folder, info)
    writer.append(*cases, *(timings or []))
    steps = sum(result.steps for result in cases)
    writer.close(Footer(cases=len(cases), steps=steps, wall_s=2.5))
    return folder


def bundle_of(
    folder: Path, info: RunInfo, cases: list[CaseResult], timings: list[TimingResult] | None = None
) -> Bundle:
    return read_finished(write_bundle(folder, info, cases, timings))


def read_back(
    folder: Path, info: RunInfo, cases: list[CaseResult], records: Sequence[BaseModel]
) -> Bundle:
    """Return a bundle with records of any kind after its cases."""
    writer = create(folder, info)
    writer.append(*cases, *records)
    cells = sum(isinstance(record, DistributionResult) for record in records)
    skipped = sum(isinstance(record, SkipRatioResult) for record in records)
    footer = Footer(cases=len(cases), steps=1, wall_s=1.0, cells=cells, skip_ratios=skipped)
    writer.close(footer)
    return read_finished(folder)


def hostile_bundle(folder: Path) -> Path:
    """Write a bundle: every text that a model, a suite or an adapter can choose holds HOSTILE."""
    info = run_info("native", HOSTILE)
    facts = BackendInfo(
        command=[HOSTILE], version=HOSTILE, build=HOSTILE, device=HOSTILE, unavailable=HOSTILE
    )
    info = info.model_copy(
        update={
            "backends": {"native": facts, HOSTILE: facts},
            "suites": {HOSTILE: HOSTILE},
            "machine": MACHINE.model_copy(update={"cpu": HOSTILE, "packages": {HOSTILE: HOSTILE}}),
        }
    )
    bad = diverged(
        stage=HOSTILE, what=HOSTILE, detail=HOSTILE, values={HOSTILE: HOSTILE, "got": HOSTILE}
    )
    texts: dict[str, Any] = {"suite": HOSTILE, "samplers": [HOSTILE]}
    cases = [
        case(
            f"a{HOSTILE}",
            {"native": got(), HOSTILE: bad},
            counterexample={HOSTILE: HOSTILE},
            **texts,
        ),
        case(f"b{HOSTILE}", {"native": got(), HOSTILE: got()}, refusal=HOSTILE, **texts),
    ]
    ns = {"reference": [300] * 4, "llama.cpp": [100] * 4, HOSTILE: [5] * 4}
    timing = TimingResult(id=HOSTILE, sampler=f"${HOSTILE}$", n_vocab=10, repetitions=2, ns=ns)
    return write_bundle(folder, info, cases, [timing])
