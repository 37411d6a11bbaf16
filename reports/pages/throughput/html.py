"""The throughput report as one self-contained HTML file, and as Markdown."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from markupsafe import Markup

from sampler_parity.reports.pages.parity.html import environment
from sampler_parity.reports.pages.parity.markdown import MOST_CHARACTERS, code, safe, table
from sampler_parity.reports.pages.throughput.build import FLOOR
from sampler_parity.reports.pages.throughput.chart import by_sequences, by_vocabulary, detection
from sampler_parity.reports.pages.throughput.model import (
    Compared,
    Rate,
    Remark,
    SlopeRow,
    ThroughputReport,
    ThroughputSection,
    TimedRow,
    WidthRow,
)
from sampler_parity.reports.render.frame import Page
from sampler_parity.reports.render.words import duration

SHOWN = 40


def page(report: ThroughputReport) -> Page:
    """ok: what the self-check of the timings found, where there is one."""
    checks = [section.check.met for section in report.sections if section.check]
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(markdown, report),
        "html": partial(html, report),
    }
    return Page("throughput", "Throughput", all(checks) if checks else None, texts, figures(report))


def figures(report: ThroughputReport) -> list[str]:
    """What the report comes to, for the index."""
    timed = [row for section in report.sections for row in section.timings]
    widths = [row for section in report.sections for row in section.widths]
    lines = []
    for name, rows in (("timings", timed), ("generations", widths)):
        counted = Counter(row.compared.verdict for row in rows if row.compared)
        said = ", ".join(f"{n:,} {verdict}" for verdict, n in counted.most_common())
        if rows:
            beside = f": beside the first backend {said}" if said else ""
            lines.append(
                f"{len(rows):,} {name} on {len({r.backend for r in rows}):,} backends{beside}"
            )
    if widths:
        best = max(widths, key=lambda row: row.generation.value)
        rate = f"{best.generation.value:,.0f} tokens/s with {best.sequences} sequences at once"
        lines.append(f"most: {rate}, {best.backend}, {best.model}")
    return lines


def html(report: ThroughputReport) -> str:
    charts = [
        [
            Markup(by_sequences(s.widths, f"widths {i}")),  # escaped by Matplotlib
            Markup(by_vocabulary(s.timings, f"sizes {i}")),
            Markup(detection(s.check, f"check {i}")),
        ]
        for i, s in enumerate(report.sections)
    ]
    env = environment()
    env.globals |= {"ratio": ratio, "rate": rate, "share": share, "verdict": verdict, "more": more}
    return env.get_template("throughput.html.j2").render(report=report, charts=charts)


def markdown(report: ThroughputReport) -> str:
    """At most MOST_CHARACTERS: fewer rows where there are many."""
    text = ""
    for shown in (SHOWN, 15, 5, 0):
        lines = ["# Throughput", ""]
        for section in report.sections:
            lines += _section(section, shown)
        text = "\n".join(lines) + "\n"
        if len(text) <= MOST_CHARACTERS:
            return text
    return text[:MOST_CHARACTERS].rpartition("\n")[0] + "\n"


def _section(section: ThroughputSection, shown: int) -> list[str]:
    machine = section.run.machine
    lines = [f"## {code(section.bundle)}", ""]
    lines += [f"On {code(machine.cpu)}, {machine.cores} cores; {code(section.run.started)}.", ""]
    if section.widths:
        head = ["model", "chain", "sequences", "backend", "prompt tokens/s", "tokens/s [95%]"]
        head += ["sampling", "time : baseline"]
        lines += [*table(head, [_width(w) for w in section.widths[:shown]]), ""]
    if section.claims:
        words = {True: "yes", False: "**no**", None: "not judged"}
        rows = [[safe(c.claim), safe(c.seen), words[c.holds]] for c in section.claims]
        lines += [*table(["claim", "seen", "holds"], rows), ""]
    if section.timings:
        head = ["chain", "backend", "p50", "p99", "p99.9", "set-up", "time : baseline [95%]"]
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
    return [*start, rate(row.prompt), rate(row.generation), share(row.share), ratio(row.compared)]


def _timed(row: TimedRow) -> list[str]:
    return [
        code(row.id.removeprefix("timing/")),
        code(row.backend),
        duration(row.median_ns),
        duration(row.p99_ns),
        duration(row.p999_ns),
        "not said" if row.setup_ns is None else duration(row.setup_ns),
        ratio(row.compared),
        verdict(row),
    ]


def verdict(row: TimedRow) -> str:
    if row.compared:
        return row.compared.verdict
    return "floor" if row.backend == FLOOR else "the first"


def more(remark: Remark) -> str:
    return f" and {remark.more:,} more" if remark.more else ""


def ratio(found: Compared | None) -> str:
    """ "1.23 [1.20, 1.26]"; "" on the baseline."""
    if found is None or found.ratio is None:
        return "" if found is None else "none"
    if found.low is None or found.high is None:
        return f"{found.ratio:.3g}"
    return f"{found.ratio:.3g} [{found.low:.3g}, {found.high:.3g}]"


def rate(found: Rate) -> str:
    text = f"{found.value:,.0f}"
    if found.low is None or found.high is None:
        return text
    return f"{text} [{found.low:,.0f}, {found.high:,.0f}]"


def share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def slope_words(slope: SlopeRow) -> str:
    names = {
        "n_vocab": f"the vocabulary (history {slope.other:,})",
        "last_n": f"the history (vocabulary {slope.other:,})",
    }
    text = f"{duration(slope.first_ns)} at {slope.first:,}, {duration(slope.last_ns)} at"
    text += f" {slope.last:,}: grows with {names[slope.over]}, as its power {slope.exponent:.2f}"
    return text + (", and must not" if slope.finding else "")
