"""Small bundles and policies of literals, for the tests of the gate."""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.bundle.info import Footer, RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.checks.timed_records import Check, SkipRatioResult, TimingResult
from sampler_parity.harness.gate.gate import gate
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.records import GateFinding, GateResult
from tests.support.records import record
from tests.support.report_bundles import case, got, run_info
from tests.support.skip_ratios import measured, result

TODAY = date(2026, 11, 21)
ROUNDS = 40


def finished(folder: Path, records: Sequence[BaseModel], info: RunInfo | None = None) -> Bundle:
    """Write a finished bundle of these records, whose footer counts each kind."""
    writer = create(folder, info or run_info("mine", "llama.cpp"))
    writer.append(*records)
    counts = Counter(str(one.model_dump()["kind"]) for one in records)
    footer = Footer(
        cases=counts["case"],
        skip_ratios=counts["skip_ratio"],
        cells=counts["distribution"],
        steps=1,
        wall_s=1.0,
        records=counts,
    )
    writer.close(footer)
    return read_finished(folder)


def judged(bundle: Bundle, policy: str, baseline: Bundle | None = None) -> GateResult:
    path = bundle.folder / "gate.toml"
    path.write_text("schema_version = 1\n" + policy)
    return gate(bundle, read_policy(path), baseline, TODAY)


def findings(result: GateResult) -> list[tuple[str, str, GateFinding]]:
    """Return (rule, state, finding) for everything that is not met."""
    return [(rule.rule, f.state, f) for rule in result.rules for f in rule.findings]


def on_mine(name: str, result: BackendResult, **fields: Any) -> CaseResult:
    """Return a case that is identical on llama.cpp."""
    return case(name, {"mine": result, "llama.cpp": got()}, **fields)


def both(name: str, **fields: Any) -> CaseResult:
    """Return a case that is identical on both backends."""
    return on_mine(name, got(), **fields)


def cell(name: str, mine: CellOnBackend, **fields: Any) -> DistributionResult:
    fine = CellOnBackend(decision="equivalent", draws=1000, estimate=0.0, low=0.0, high=0.001)
    required = {"mine": ["equivalent"], "llama.cpp": ["equivalent"]}
    backends = {"mine": mine, "llama.cpp": fine}
    fields = {"id": name, "backends": backends, "required": required} | fields
    return DistributionResult.model_validate(record("cell", **fields))


def timed(name: str, ratio: float, spread: float = 0.01, again: float = 1.0) -> TimingResult:
    """Return rounds of one sample: llama.cpp, itself again, and mine, which takes `ratio` of its
    time.

    spread: how far the rounds of mine lie apart, up and down in turn.
    """
    slow = [1000 + 100 * (i % 7) for i in range(ROUNDS)]  # the machine's own ups and downs
    return TimingResult(
        id=name,
        suite="timing/samplers",
        sampler="top_p",
        n_vocab=1000,
        baseline="llama.cpp",
        again=[round(ns * again * (1 + 0.005 * (-1) ** i)) for i, ns in enumerate(slow)],
        ns={
            "llama.cpp": slow,
            "mine": [round(ns * ratio * (1 + spread * (-1) ** i)) for i, ns in enumerate(slow)],
        },
    )


def saved(name: str, ratio: float | None, checks: Sequence[Check] = ()) -> SkipRatioResult:
    """Return a workload on mine; ratio None: it crashed."""
    outcome = measured(skip_ratio_mean=ratio) if ratio is not None else None
    workload = name.split("@")[0]
    changes: dict[str, Any] = {"id": name, "workload": workload, "backend": "mine"}
    return result(outcome, **changes, checks=list(checks))
