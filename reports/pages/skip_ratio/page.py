"""The skip-ratio page: what does a token trie save against a grammar?"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.page import Page
from sampler_parity.reports.pages.skip_ratio import labels
from sampler_parity.reports.pages.skip_ratio.build import report_of
from sampler_parity.reports.pages.skip_ratio.document import document
from sampler_parity.reports.pages.skip_ratio.model import SkipRatioReport, SkipRatioRow
from sampler_parity.reports.summary import PageFinding, PageSummary

SHOWN = 12  # failures, and measurements


def summary(report: SkipRatioReport) -> PageSummary:
    """Return failures, a line for each measurement, and how good the model is."""
    met = sum(row.ok for row in report.rows)
    return PageSummary(
        report.ok,
        [f"{met:,}/{len(report.rows):,} measurements as required", *_headlines(report)],
        lines=[*_lines(report, met)],
        findings=[
            PageFinding(
                text=f"{row.workload}: {row.failed[0]}, on {row.backend}", anchor="failures"
            )
            for row in report.rows
            if not row.ok and row.failed
        ],
    )


def _headlines(report: SkipRatioReport) -> Iterator[str]:
    """Yield `actions` at each vocabulary."""
    shown: dict[int, Measured] = {}
    for row in report.rows:
        if row.measured and row.leaves == "actions" and not row.delay_ms:
            shown.setdefault(row.measured.n_vocab, row.measured)
    for n, m in sorted(shown.items()):
        speed_up = f"{labels.over_grammar(m)} times the tokens/s of grammar first"
        yield f"30 actions at V = {n:,}: {speed_up}"


def _lines(report: SkipRatioReport, met: int) -> Iterator[str]:
    for row in [row for row in report.rows if not row.ok][:SHOWN]:
        yield f"FAILED {one_line(row.workload)} on {one_line(row.backend)}"
        yield from (f"  {one_line(why)}" for why in row.failed)
        yield f"  replay: {row.replay}"
    measured = [row for row in report.rows if row.measured is not None]
    yield from map(_line, measured[:SHOWN])
    if len(measured) > SHOWN:
        yield f"  ... and {len(measured) - SHOWN:,} more"
    parts = [f"skip     {met:,}/{len(report.rows):,} as required", labels.model_error(report)]
    yield "   ".join([*parts, state_of(report.ok)])


def _line(row: SkipRatioRow) -> str:
    m = row.measured
    assert m is not None
    return (
        f"skip     {labels.leaves_of(row)} {one_line(row.model)} V={m.n_vocab:,}"
        f"   skip ratio {labels.percent(m.skip_ratio_mean)}"
        f"   {m.forward_passes_saved:,}/{m.forward_passes_total:,} passes saved"
        f"   {labels.over_grammar(m)} x grammar first"
    )


SKIP_RATIO = Page[list[Bundle], SkipRatioReport](
    stem="skip-ratio",
    title="Skip ratio",
    answers="What does a token trie save against a grammar, and from which decode time on?",
    model=SkipRatioReport,
    build=report_of,
    document=document,
    summary=summary,
)
