"""The model of the skip-ratio page, from bundles.

reports/schemas/skip-ratio.schema.json is made of SkipRatioReport.
"""

from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.timed_records import Check, SkipRatioResult
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.sanitize.printable import escaped, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.trie.model import foretold
from sampler_parity.reports.labels import figure


class _Part(Strict, ser_json_inf_nan="strings"):
    """A part whose distribution may be infinitely far off."""


class SkipRatioRow(_Part):
    """A workload on a backend. modelled: the speed-up by harness/trie/model.py, of a row with
    delay_ms from the row without; deviation: that over the measured, less 1. failed: checks not
    met, and what prevented the measurement."""

    bundle: str
    workload: str
    backend: str
    model: str
    leaves: str
    prompts: int
    rounds: int
    delay_ms: float
    ok: bool
    verdict: str
    failed: list[str]
    measured: Measured | None
    checks: list[Check]
    modelled: float | None
    deviation: float | None
    replay: str

    @property
    def skipped(self) -> bool:
        """Whether the backend does not claim to measure it."""
        return self.verdict == "unsupported"


class SkipRatioBundle(_Part):
    name: str
    run: RunInfo


class SkipRatioReport(_Part):
    """rows: those that failed first. points: rows that the model was held against; foretold: those
    of them with a longer pass; *_deviation: the largest, of either sign."""

    schema_version: Literal[1] = 1
    kind: Literal["skip_ratio"] = "skip_ratio"
    ok: bool
    bundles: list[SkipRatioBundle]
    rows: list[SkipRatioRow]
    points: int
    points_deviation: float | None
    foretold: int
    foretold_deviation: float | None


def report_of(bundles: list[Bundle]) -> SkipRatioReport | None:
    """Return None where no bundle measured a skip ratio."""
    parts: list[SkipRatioBundle] = []
    rows: list[SkipRatioRow] = []
    for bundle in bundles:
        if bundle.of(SkipRatioResult):
            info = escaped(bundle.info)
            name = visible(bundle.folder.resolve().name)
            parts.append(SkipRatioBundle(name=name, run=info))
            by_key = {_key(r): r for r in bundle.of(SkipRatioResult)}
            for result in bundle.of(SkipRatioResult):
                base = by_key.get((*_key(result)[:-1], 0.0))
                rows.append(_row(name, info, result, base.measured if base else None))
    if not rows:
        return None
    deviations = [abs(r.deviation) for r in rows if r.deviation is not None and not r.delay_ms]
    longer = [abs(r.deviation) for r in rows if r.deviation is not None and r.delay_ms]
    return SkipRatioReport(
        ok=any(row.ok for row in rows) and all(row.ok or row.skipped for row in rows),
        bundles=parts,
        rows=sorted(rows, key=lambda row: row.ok),
        points=len(deviations),
        points_deviation=max(deviations, default=None),
        foretold=len(longer),
        foretold_deviation=max(longer, default=None),
    )


def _key(result: SkipRatioResult) -> tuple[str, str, str, float]:
    return result.backend, result.model, result.leaves, result.delay_ms


def _row(bundle: str, info: RunInfo, raw: SkipRatioResult, base: Measured | None) -> SkipRatioRow:
    """Return a row. base: the same without a delay."""
    result = escaped(raw)
    measured = result.measured
    failed = [_unmet(check) for check in result.checks if not check.met]
    if measured is None:
        failed.append(f"{result.verdict}: {result.detail}")
    elif not result.checks:
        failed.append("nothing was required")
    modelled = measured.modelled.here if measured else None
    if measured and result.delay_ms:
        modelled = foretold(base, measured) if base else None
    return SkipRatioRow(
        bundle=bundle,
        workload=result.workload,
        backend=result.backend,
        model=result.model,
        leaves=result.leaves,
        prompts=result.prompts,
        rounds=result.rounds,
        delay_ms=result.delay_ms,
        ok=result.ok,
        verdict=result.verdict,
        failed=failed,
        measured=measured,
        checks=result.checks,
        modelled=modelled,
        deviation=modelled / measured.tokens_per_second_vs_grammar - 1
        if measured and modelled
        else None,
        replay=replay(info, result.suite, result.workload, [result.backend]),
    )


def _unmet(check: Check) -> str:
    return f"{check.what} is {figure(check.found)}, required {check.relation} {figure(check.limit)}"
