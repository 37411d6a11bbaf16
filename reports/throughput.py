"""The throughput page: from bundles to what it says. reports/throughput_page.py writes it."""

from collections import Counter

import numpy as np

from harness.bundle import Bundle
from harness.results import RunInfo, TimingResult
from harness.throughput_results import ThroughputResult
from harness.timing_notices import notices
from harness.timing_slopes import Slope, slopes
from harness.timing_verdict import compare_backends
from reports.claims import claims
from reports.speed import nearest_rank
from reports.throughput_model import (
    Remark,
    SlopeRow,
    ThroughputReport,
    ThroughputSection,
    TimedRow,
    compared,
)
from reports.throughput_widths import width_rows
from reports.words import visible

EFFECT = 0.05


def report_of(bundles: list[Bundle], effect: float = EFFECT) -> ThroughputReport | None:
    """A section for every bundle that has something timed; None where none has."""
    sections = [
        _section(bundle, effect)
        for bundle in bundles
        if bundle.timings or bundle.throughputs or bundle.timing_checks
    ]
    return ThroughputReport(sections=sections) if sections else None


def _section(bundle: Bundle, effect: float) -> ThroughputSection:
    timings = [TimingResult.model_validate(visible(t.model_dump())) for t in bundle.timings]
    wide = [ThroughputResult.model_validate(visible(t.model_dump())) for t in bundle.throughputs]
    rows = [row for result in timings for row in _rows(result, effect)]
    widths = [row for result in wide for row in width_rows(result, effect)]
    return ThroughputSection(
        bundle=visible(bundle.folder.resolve().name),
        run=RunInfo.model_validate(visible(bundle.info.model_dump())),
        effect=effect,
        timings=rows,
        slopes=[_slope_row(slope) for slope in slopes(timings)],
        widths=widths,
        claims=claims(rows, widths),
        remarks=_remarks(timings, wide),
        check=next(iter(bundle.timing_checks), None),
    )


def _rows(result: TimingResult, effect: float) -> list[TimedRow]:
    return [_row(result, name, ns, effect) for name, ns in result.ns.items() if ns]


def _row(result: TimingResult, name: str, ns: list[int], effect: float) -> TimedRow:
    median = float(np.median(ns))
    setup = result.setup_ns.get(name)
    compares = bool(result.baseline) and name != result.baseline
    return TimedRow(
        id=result.id,
        sampler=result.sampler,
        n_vocab=result.n_vocab,
        last_n=result.last_n,
        masked=result.masked,
        backend=name,
        samples=len(ns),
        median_ns=median,
        p99_ns=nearest_rank(ns, 0.99),
        p999_ns=nearest_rank(ns, 0.999),
        setup_ns=float(np.median(setup)) if setup else None,
        tokens_per_s=1e9 / max(median, 1.0),
        compared=compared(compare_backends(result, name, effect)) if compares else None,
        instructions=result.instructions.get(name),
    )


def _slope_row(slope: Slope) -> SlopeRow:
    return SlopeRow(
        group=slope.group,
        backend=slope.backend,
        over=slope.over,
        other=slope.other,
        first=slope.points[0],
        last=slope.points[-1],
        first_ns=slope.median_ns[0],
        last_ns=slope.median_ns[-1],
        ns_per=slope.ns_per,
        low=slope.low,
        high=slope.high,
        exponent=slope.exponent,
        steady=slope.steady,
        finding=slope.finding,
    )


def _remarks(timings: list[TimingResult], wide: list[ThroughputResult]) -> list[Remark]:
    """Notices, one line for those that all timings share; then what failed."""
    found = [(t.id, notice.text) for t in timings for notice in notices(t)]
    times = Counter(text for _, text in found)
    shared = {text for text, n in times.items() if n > 1 and n == len(timings)}
    rows = [Remark(id="every timing", text=text) for text in sorted(shared)]
    rows += [Remark(id=i, text=text) for i, text in found if text not in shared]
    for t in timings:
        rows += [Remark(id=t.id, text=f"{name}: {why}") for name, why in t.failed.items()]
        rows += [Remark(id=t.id, text=f"{name}: {why}") for name, why in t.uncounted.items()]
    for w in wide:
        failed = {name: b.failed for name, b in w.backends.items() if b.failed}
        rows += [Remark(id=w.id, text=f"{name}: {why}") for name, why in failed.items()]
    return rows
