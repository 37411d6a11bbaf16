"""Builds the model of the throughput page from bundles."""

from collections import defaultdict

import numpy as np

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.checks.throughput.record import ThroughputResult
from sampler_parity.harness.checks.timing.notices import notices
from sampler_parity.harness.checks.timing.record import TimingResult
from sampler_parity.harness.checks.timing.slopes import Slope, slopes
from sampler_parity.harness.checks.timing.verdict import compare_backends, nearest_rank
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.throughput import model
from sampler_parity.reports.pages.throughput.claims import claims
from sampler_parity.reports.pages.throughput.widths import width_rows

EFFECT = 0.05
FLOOR = "null"  # what it takes to do nothing: no rival
_ORDER = ("timing/engines", "timing/samplers")


def report_of(bundles: list[Bundle], effect: float = EFFECT) -> model.ThroughputReport | None:
    """Return a section for every bundle that has something timed; None where none has."""
    sections = [
        _section(bundle, effect)
        for bundle in bundles
        if bundle.timings or bundle.throughputs or bundle.timing_checks
    ]
    return model.ThroughputReport(sections=sections) if sections else None


def _section(bundle: Bundle, effect: float) -> model.ThroughputSection:
    timings = sorted(
        (TimingResult.model_validate(visible(t.model_dump())) for t in bundle.timings),
        key=lambda t: _ORDER.index(t.suite) if t.suite in _ORDER else len(_ORDER),
    )
    wide = [ThroughputResult.model_validate(visible(t.model_dump())) for t in bundle.throughputs]
    checks = (
        TimingCheckResult.model_validate(visible(c.model_dump())) for c in bundle.timing_checks
    )
    rows = [row for result in timings for row in _rows(result, effect)]
    widths = [row for result in wide for row in width_rows(result, effect)]
    busy = any(notice.kind == "busy" for t in timings for notice in notices(t))
    return model.ThroughputSection(
        bundle=visible(bundle.folder.resolve().name),
        run=RunInfo.model_validate(visible(bundle.info.model_dump())),
        effect=effect,
        timings=rows,
        slopes=[_slope_row(slope) for slope in slopes(timings)],
        widths=widths,
        claims=claims(rows, widths, busy),
        remarks=_remarks(timings, wide),
        check=next(iter(checks), None),
    )


def _rows(result: TimingResult, effect: float) -> list[model.TimedRow]:
    return [_row(result, name, ns, effect) for name, ns in result.ns.items() if ns]


def _row(result: TimingResult, name: str, ns: list[int], effect: float) -> model.TimedRow:
    median = float(np.median(ns))
    setup = result.setup_ns.get(name)
    compares = bool(result.baseline) and name not in (result.baseline, FLOOR)
    return model.TimedRow(
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
        compared=model.compared(compare_backends(result, name, effect)) if compares else None,
        instructions=result.instructions.get(name),
    )


def _slope_row(slope: Slope) -> model.SlopeRow:
    return model.SlopeRow(
        group=slope.group,
        backend=slope.backend,
        over=slope.over,
        other=slope.other,
        first=slope.points[0],
        last=slope.points[-1],
        first_ns=slope.fastest_ns[0],
        last_ns=slope.fastest_ns[-1],
        ns_per=slope.ns_per,
        low=slope.low,
        high=slope.high,
        exponent=slope.exponent,
        steady=slope.steady,
        finding=slope.finding,
    )


def _remarks(timings: list[TimingResult], wide: list[ThroughputResult]) -> list[model.Remark]:
    """Return what disturbed a timing, and what did not run; a text that several share stands
    once."""
    remarks = [(notice.text, t.id) for t in timings for notice in notices(t)]
    for t in timings:
        remarks += [(f"{name}: {why}", t.id) for name, why in (t.failed | t.uncounted).items()]
    for w in wide:
        remarks += [(f"{name}: {b.failed}", w.id) for name, b in w.backends.items() if b.failed]
        remarks += [(f"{name}: {b.parted}", w.id) for name, b in w.backends.items() if b.parted]
    places: dict[str, list[str]] = defaultdict(list)
    for text, i in remarks:
        places[text].append(i)
    return [model.Remark(id=ids[0], more=len(ids) - 1, text=text) for text, ids in places.items()]
