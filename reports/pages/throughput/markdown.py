"""The throughput page as Markdown."""

from sampler_parity.harness.sanitize.markup import code, safe
from sampler_parity.reports.labels import duration, tail
from sampler_parity.reports.pages.throughput.labels import (
    more,
    rate,
    ratio,
    share,
    slope_words,
    verdict,
)
from sampler_parity.reports.pages.throughput.model import (
    ThroughputReport,
    ThroughputSection,
    TimedRow,
    WidthRow,
)
from sampler_parity.reports.writers.markdown import fitting, table

SHOWN = 40  # rows of a table


def markdown(report: ThroughputReport) -> str:
    """Fewer rows where there are many."""
    return fitting(_text(report, shown) for shown in (SHOWN, 15, 5, 0))


def _text(report: ThroughputReport, shown: int) -> str:
    lines = ["# Throughput", ""]
    for section in report.sections:
        lines += _section(section, shown)
    return "\n".join(lines) + "\n"


def _section(section: ThroughputSection, shown: int) -> list[str]:
    machine = section.run.machine
    lines = [f"## {code(section.bundle)}", ""]
    lines += [f"On {code(machine.cpu)}, {machine.cores} cores; {code(section.run.started)}.", ""]
    if section.widths:
        head = ["model", "chain", "sequences", "backend", "prompt tokens/s", "tokens/s [95%]"]
        head += ["sampling", "a sequence : alone", "its sampling : alone", "time : baseline"]
        lines += [*table(head, [_width(w) for w in section.widths[:shown]]), ""]
    if section.claims:
        words = {True: "yes", False: "**no**", None: "not judged"}
        rows = [[safe(c.claim), safe(c.seen), words[c.holds]] for c in section.claims]
        lines += [*table(["claim", "seen", "holds"], rows), ""]
    if section.timings:
        head = ["chain", "backend", "p50", "slow end", "set-up", "time : baseline [95%]"]
        head += ["verdict"]
        lines += [*table(head, [_timed(r) for r in section.timings[:shown]]), ""]
        left_out = len(section.timings) - shown
        lines += [f"{left_out:,} more rows: see the HTML report.", ""] if left_out > 0 else []
    findings = [s for s in section.slopes if s.finding]
    lines += [f"- **{code(s.group)} on {code(s.backend)}**: {slope_words(s)}" for s in findings]
    lines += [f"- {code(r.id)}{more(r)}: {safe(r.text)}" for r in section.remarks[:shown]]
    return [*lines, ""]


def _width(row: WidthRow) -> list[str]:
    where = code(row.backend) + (f" ({row.in_graph}/{row.stages} in graph)" if row.in_graph else "")
    start = [code(row.model), code(row.chain), str(row.sequences), where]
    of_one = [ratio(row.of_one), ratio(row.sample_of_one)]
    return [
        *start,
        rate(row.prompt),
        rate(row.generation),
        share(row.share),
        *of_one,
        ratio(row.compared),
    ]


def _timed(row: TimedRow) -> list[str]:
    return [
        code(row.id.removeprefix("timing/")),
        code(row.backend),
        duration(row.median_ns),
        tail(row.p99_ns, row.p999_ns, row.samples),
        "not said" if row.setup_ns is None else duration(row.setup_ns),
        ratio(row.compared),
        verdict(row),
    ]
