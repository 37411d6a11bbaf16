"""Show what sampling costs, alone and while a model is decoded, compared with llama.cpp."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import TimingCheckResult
from sampler_parity.harness.processes import shell
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, state_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary
from sampler_parity.reports.pages.throughput.throughput_model import (
    SlopeRow,
    ThroughputReport,
    ThroughputSection,
    WidthRow,
    report_of,
)
from sampler_parity.reports.pages.throughput.throughput_tables import (
    SORTABLE,
    by_sequences,
    detection,
    every_timing,
    growth_text,
    more_text,
    rate_text,
    ratio_text,
    share_text,
    timings,
    tone_of,
)
from sampler_parity.reports.parts import bundle_heading, folded, state

ROWS_IN_MARKDOWN = 40  # rows in Markdown
INTRO = (
    "How fast samplers are, alone and while a model is decoded. Ratios are time on a backend to "
    "time on the first backend of the run, from rounds that stand next to each other; above 1 is "
    "slower."
)


def document(report: ThroughputReport) -> doc.Document:
    """Return the page of a report."""
    blocks = [_region(section, f"b{i}") for i, section in enumerate(report.sections, 1)]
    intro = [doc.Paragraph(INTRO)]
    return doc.Document("Throughput", "Throughput report", intro, blocks, scripted=True)


def _region(section: ThroughputSection, b: str) -> doc.Region:
    run = section.run
    machine = (doc.Name(run.machine.cpu), f", {run.machine.cores} cores")
    how = f", {run.machine.system}; started {run.started}; profile {run.profile}, seed {run.seed}; "
    facts = doc.Paragraph((*machine, how, doc.Code(shell.join(run.command))), "quiet")
    brief = doc.Paragraph(("On ", *machine, "; ", doc.Name(run.started), "."))
    parts = [
        *([timings(section, b)] if section.timings else []),
        *([_slopes(section, b)] if section.slopes else []),
        *_widths(section, b),
        *_claims(section, b),
        doc.InMarkdown([every_timing(section, ROWS_IN_MARKDOWN)] if section.timings else []),
        *(_check(section.check, b) if section.check else []),
        *_remarks(section, b),
    ]
    return doc.Region(
        b, [bundle_heading(section.bundle, b), doc.InHtml([facts]), doc.InMarkdown([brief]), *parts]
    )


def _slopes(section: ThroughputSection, b: str) -> doc.InHtml:
    findings = sum(slope.finding for slope in section.slopes)
    steady = sum(slope.steady for slope in section.slopes)
    text = f"{findings} of {steady} costs that must not depend on the vocabulary or the history do."
    table = doc.Table(
        "Fastest samples. Slopes by Theil and Sen with their 95% interval; the exponent is "
        "that of time as a power of the size. Findings first.",
        "Chain | Backend | Over | From, to | ns a token more | Exponent | Must not depend on it",
        [_slope(slope) for slope in section.slopes],
        style=SORTABLE,
    )
    verdict = doc.Paragraph(text, "bad", "state") if findings else doc.Paragraph(text)
    heading = doc.Heading(3, "Growth of the cost", f"{b}-slopes")
    return doc.InHtml([heading, verdict, folded(len(section.slopes), "slope", 12, [table])])


def _slope(s: SlopeRow) -> doc.Cells:
    over = "vocabulary, history of" if s.over == "n_vocab" else "history, vocabulary of"
    ends = f"{duration(s.first_ns)} at {s.first:,}, {duration(s.last_ns)} at {s.last:,}"
    finding = "finding: it does" if s.finding else "holds" if s.steady else ""
    return [
        s.group,
        s.backend,
        doc.TableCell(f"{over} {s.other:,}", kind="text"),
        doc.TableCell(ends, key=doc.sort_key(s.first_ns)),
        doc.sortable(f"{s.ns_per:.3g} [{s.low:.3g}, {s.high:.3g}]", s.ns_per),
        doc.sortable(f"{s.exponent:.2f}", s.exponent),
        doc.TableCell(finding, "bad" if s.finding else "quiet"),
    ]


def _widths(section: ThroughputSection, b: str) -> Iterator[doc.Block]:
    if not section.widths:
        return
    chart = doc.Picture(
        "Chart of tokens a second by sequences at once",
        "Tokens a second, all sequences together, by sequences at once; both axes logarithmic. The "
        "table below has the figures.",
        partial(by_sequences, section.widths),
    )
    head = "Model, chain, sequences | Backend | Prompt tokens/s [95%] | Generated tokens/s [95%]"
    shares = "A sequence : alone | Its sampling : alone | Time : first"
    names = "model, chain, sequences | backend | prompt tokens/s [95%] | generated tokens/s [95%]"
    table = doc.Table(
        "Sampling: its share of the time of generating. In the graph: what is above the decoding "
        "alone of the first backend, or less than the noise. A sequence : alone: the time of one "
        "among so many, in shares of one alone, which takes turns with them.",
        f"{head} | A step: sampling, decoding | Sampling | {shares} | Verdict",
        [_width(row) for row in section.widths],
        style=SORTABLE,
        markdown=f"{names} | sampling | a sequence : alone | its sampling : alone | time : first",
        most=ROWS_IN_MARKDOWN,
    )
    heading = doc.Heading(3, "Tokens a second with decoding", f"{b}-widths")
    yield from (heading, chart, folded(len(section.widths), "figure", 12, [table]))


def _width(w: WidthRow) -> list[doc.TableCell]:
    graph = [f"{w.in_graph}/{w.stages} stages in the graph"] if w.in_graph else []
    ratios = [
        doc.TableCell(ratio_text(of), key=doc.sort_key(of.ratio if of else None))
        for of in (w.of_one, w.sample_of_one, w.compared)
    ]
    verdict = f"{w.compared.verdict}: {w.compared.why}" if w.compared else "the first"
    steps = f"{duration(w.sample_ns)}, {duration(w.decode_ns)}"
    return [
        doc.TableCell((doc.Name(w.model), ", ", doc.Name(w.chain), f", {w.sequences}")),
        doc.TableCell(doc.Lines([doc.Name(w.backend), *graph]), kind="text"),
        doc.TableCell(rate_text(w.prompt), key=doc.sort_key(w.prompt.value)),
        doc.TableCell(rate_text(w.generation), key=doc.sort_key(w.generation.value)),
        doc.TableCell(steps, key=doc.sort_key(w.sample_ns)),
        doc.TableCell(share_text(w.share), key=doc.sort_key(w.share)),
        *ratios,
        doc.TableCell(verdict, tone_of(w)),
    ]


def _claims(section: ThroughputSection, b: str) -> Iterator[doc.Block]:
    if not section.claims:
        return
    tones: dict[bool | None, doc.Tone] = {True: "good", False: "bad", None: ""}
    text = {True: "yes", False: "no", None: "not judged"}
    rows: doc.Rows = [
        [
            doc.Untrusted(c.claim),
            doc.Untrusted(c.seen),
            doc.judged(text[c.holds], tones[c.holds]),
        ]
        for c in section.claims
    ]
    yield doc.Heading(3, "Claims of engines about their speed", f"{b}-claims")
    yield doc.Table(
        "Each claim and what this bundle shows.", "Claim | Seen | Holds", rows, "stacked"
    )


def _check(check: TimingCheckResult, b: str) -> Iterator[doc.Block]:
    alarms = f"at most {check.alarm_rate:.0%} false alarms are stated"
    verdict = f"{alarms}; {check.curves[0].trials} comparisons of llama.cpp with itself."
    caption = (
        f"{check.chain} at V = {check.n_vocab:,}, an effect of {check.effect:.0%}: the verdicts on "
        "llama.cpp slowed down by so much."
    )
    rows: doc.Rows = []
    for c in check.curves:
        name = f"{c.percent:g}%" if c.percent else "nothing (A/A)"
        counts = zip(c.slower, c.faster, c.inconclusive, c.off_one, strict=True)
        for n, seconds, of_trials in zip(c.rounds, c.seconds, counts, strict=True):
            shares = [f"{count}/{c.trials}" for count in of_trials]
            rows.append([name, *map(doc.num, [str(n), f"{seconds:.3g}", *shares])])
    head = "Slowed down by | Rounds | Seconds measured | Slower | Faster | Inconclusive"
    chart = doc.Picture(
        "Chart of the slow-downs detected by measuring time",
        'Share of trials with the verdict "slower" (of A/A: slower or faster) by the time '
        "measured, samples and their set-up. The table above has the figures.",
        partial(detection, check),
    )
    heading = doc.Heading(3, "Self-check of the timings", f"{b}-check")
    table = doc.Table(caption, f"{head} | Interval leaves 1 out", rows)
    yield doc.InHtml([heading, state(check.met, verdict), table, chart])


def _remarks(section: ThroughputSection, b: str) -> Iterator[doc.Block]:
    """Yield what disturbed the timings; in Markdown behind what grows and must not."""
    growing = [
        (
            doc.Strong((doc.Name(slope.group), " on ", doc.Name(slope.backend))),
            f": {growth_text(slope)}",
        )
        for slope in section.slopes
        if slope.finding
    ]
    remarks = [
        (doc.Name(r.id), f"{more_text(r)}: ", doc.Untrusted(r.text)) for r in section.remarks
    ]
    if growing or remarks:
        yield doc.InMarkdown([doc.Items([*growing, *remarks], most=ROWS_IN_MARKDOWN)])
    if remarks:
        rows: doc.Rows = [
            [f"{r.id}{more_text(r)}", doc.TableCell(r.text, kind="wide")] for r in section.remarks
        ]
        caption = "Drift, outliers, frequency, and backends without a figure."
        table = doc.Table(caption, "Timing | What", rows)
        heading = doc.Heading(3, "Disturbances, and parts that did not run", f"{b}-remarks")
        yield doc.InHtml([heading, folded(len(rows), "remark", 0, [table])])


def summary(report: ThroughputReport) -> PageSummary:
    """Return what is compared; ok is what the self-check of the timings found, if there is one."""
    checks = [section.check.met for section in report.sections if section.check]
    return PageSummary(
        all(checks) if checks else None,
        [*_headlines(report)],
        lines=[line for section in report.sections for line in _lines(section)],
        findings=[*_findings(report)],
    )


def _headlines(report: ThroughputReport) -> Iterator[str]:
    timed = [row for section in report.sections for row in section.timings]
    widths = [row for section in report.sections for row in section.widths]
    for name, rows in (("timings", timed), ("generations", widths)):
        counted = Counter(row.compared.verdict for row in rows if row.compared)
        verdicts = ", ".join(f"{n:,} {verdict}" for verdict, n in counted.most_common())
        if rows:
            against = f": compared with the first backend {verdicts}" if verdicts else ""
            yield f"{len(rows):,} {name} on {len({r.backend for r in rows}):,} backends{against}"
    if widths:
        best = max(widths, key=lambda row: row.generation.value)
        most = f"{best.generation.value:,.0f} tokens/s with {best.sequences} sequences at once"
        yield f"most: {most}, {best.backend}, {best.model}"


def _findings(report: ThroughputReport) -> Iterator[PageFinding]:
    """Yield a self-check that fails, and what grows and must not."""
    for i, section in enumerate(report.sections, 1):
        if section.check and not section.check.met:
            text = "the self-check of the timings has more false alarms than are stated"
            yield PageFinding(text=text, anchor=f"b{i}-check")
        for slope in section.slopes:
            if slope.finding:
                grows = {"n_vocab": "vocabulary", "last_n": "history"}[slope.over]
                text = f"{slope.group} grows with the {grows} and must not, on {slope.backend}"
                yield PageFinding(text=text, anchor=f"b{i}-slopes", fails=False)


def _lines(section: ThroughputSection) -> Iterator[str]:
    """Yield a line for each backend, and what must not be and is."""
    by_backend: dict[str, Counter[str]] = {}
    for row in section.timings:
        if row.compared:
            by_backend.setdefault(row.backend, Counter())[row.compared.verdict] += 1
    for name, verdicts in by_backend.items():
        counts = [f"{n:,} {verdict}" for verdict, n in verdicts.items()]
        yield "   ".join([f"speed    {one_line(name, 80)}", *counts])
    yield from (_width_line(row) for row in section.widths)
    for s in section.slopes:
        if s.finding:
            yield f"finding  {one_line(s.group, 80)} on {one_line(s.backend, 80)}: {growth_text(s)}"
    if section.check:
        yield from _check_lines(section.check)


def _width_line(row: WidthRow) -> str:
    what = f"{one_line(row.model, 40)}, {one_line(row.chain, 40)}, {row.sequences} at once"
    where = one_line(row.backend, 80)
    line = (
        f"tokens/s {what} on {where}: {rate_text(row.generation)}, sampling {share_text(row.share)}"
    )
    return f"{line}; a sequence takes {ratio_text(row.of_one)} of one alone" if row.of_one else line


def _check_lines(check: TimingCheckResult) -> Iterator[str]:
    for curve in check.curves:
        slower = ", ".join(
            f"{n}/{curve.trials} after {s:.2g} s"
            for n, s in zip(curve.slower, curve.seconds, strict=True)
        )
        yield f"slower   by {curve.percent:g}%: {slower}"
    first = check.curves[0]
    alarms = max(s + f for s, f in zip(first.slower, first.faster, strict=True))
    stated = check.alarm_rate * first.trials
    yield f"alarms   {alarms}/{first.trials}, stated {stated:g}   {state_of(check.met)}"


THROUGHPUT = Page[list[Bundle], ThroughputReport](
    stem="throughput",
    title="Throughput",
    answers="What does sampling cost, alone and while a model is decoded, compared with llama.cpp?",
    model=ThroughputReport,
    build=report_of,
    document=document,
    summary=summary,
)
