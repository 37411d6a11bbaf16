"""Is every sampler on every backend the reference's, stage by stage and to the bit?

The page has a part for each bundle, then parts over all of them.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, duration, factor, share_of, state_of, tail
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.pages.parity.parity_build import headlines, report_of
from sampler_parity.reports.pages.parity.parity_devices import hardware
from sampler_parity.reports.pages.parity.parity_findings import (
    agreement_lines,
    brief,
    differences,
    failures,
)
from sampler_parity.reports.pages.parity.parity_implementations import implementations
from sampler_parity.reports.pages.parity.parity_model import (
    ParityRow,
    Report,
    Section,
    Tally,
    TimedBackend,
    Timing,
)
from sampler_parity.reports.pages.parity.parity_releases import releases
from sampler_parity.reports.pages.parity.parity_summary import (
    findings,
    heat_map,
    junit_tests,
    last_line,
    terminal_lines,
)
from sampler_parity.reports.parts import (
    OPEN,
    bundle_heading,
    folded,
    machine_fold,
    machine_line,
    state,
    times_part,
)
from sampler_parity.reports.pictures.picture import DOT, ForestLine, forest

INTRO = (
    "Samplers compared with the reference, which follows llama.cpp v0.5.0, stage by stage and to "
    "the bit."
)
FULL_WIDTH = 3  # backends: the tables of so many are not set next to each other
ALLOWED = 100  # rows of allowed differences, of all bundles
COUNTS = (
    "Cases by verdict. A case counts for the sampler at which it first differs; for all of its "
    "chain where none does, or none can be named. The worst first."
)


def document(report: Report) -> doc.Document:
    """Return the page of a report."""
    links = [
        (f"{section.bundle}: {state_of(section.ok)}", f"#b{i}")
        for i, section in enumerate(report.sections, 1)
    ]
    blocks: list[doc.Block] = [
        _region(report, section, f"b{i}") for i, section in enumerate(report.sections, 1)
    ]
    if report.matrix:
        links.append(("Samplers by implementation", "#matrix"))
        blocks.append(implementations(report.matrix))
    if report.drift:
        links.append(("Drift across releases", "#drift"))
        blocks.append(releases(report.drift))
    if report.devices:
        links.append(("Hardware configurations", "#devices"))
        blocks.append(hardware(report.devices))
    nav = [doc.Links("Bundles", links)] if len(links) > 1 else []
    title = f"Parity report: {state_of(report.ok)}"
    return doc.Document(title, "Parity report", [doc.Paragraph(INTRO), *nav], blocks)


def _region(report: Report, section: Section, b: str) -> doc.Region:
    alone = len(report.sections) == 1
    few = OPEN // len(report.sections) if section.ok else 12 * alone
    samplers = verdict_table(section, section.matrix, "Sampler", COUNTS)
    caption = "Cases by verdict, suite by suite. The worst first."
    suites = verdict_table(section, section.suites, "Suite", caption)
    by_sampler = _part(
        *("Samplers by backend and verdict", f"{b}-matrix"),
        folded(len(section.matrix), "sampler", few, [samplers]),
    )
    by_suite = _part("Suites", f"{b}-suites", folded(len(section.suites), "suite", few, [suites]))
    timed = doc.InHtml([*times_part(section.times, 3, f"{b}-times", few)])
    both: list[list[doc.Block]] = [[*by_sampler, timed], [doc.InHtml(by_suite)]]
    narrow = len(section.backends) < FULL_WIDTH and section.ok
    blocks = [
        bundle_heading(section.bundle, b, f": {state_of(section.ok)}"),
        doc.InHtml([*_top(section), *_failures(report, section, b)]),
        *_brief(section),
        doc.InHtml([_links(section, b)]),
        *_part("Backends", f"{b}-backends", backend_table(section)),
        *([doc.Columns(both)] if narrow else [block for part in both for block in part]),
        doc.InHtml([*_accepted(section, b, ALLOWED // len(report.sections))]),
        *_part("Speed", f"{b}-speed", *speed_blocks(section, few)),
        doc.InHtml([*_end(section, b)]),
    ]
    return doc.Region(b, blocks)


def _part(title: str, anchor: str, *blocks: doc.Block) -> list[doc.Block]:
    """Return a part that has its heading in HTML alone."""
    return [doc.InHtml([doc.Heading(3, title, anchor)]), *blocks]


def _top(section: Section) -> Iterator[doc.Block]:
    run = section.run
    cases = f"{section.cases_met:,}/{section.cases_judged:,} cases as required on every backend."
    yield state(section.ok, cases if section.cases else "the bundle holds no case.")
    yield doc.Paragraph(
        f"{section.steps:,} steps, {section.draws:,} of them draws; wall time {section.wall_s:,.1f}"
        f" s; started {run.started}; profile {run.profile}, seed {run.seed}.",
        "quiet",
    )


def _failed(section: Section) -> int:
    return len(section.failures) + len(section.problems)


def _links(section: Section, b: str) -> doc.Links:
    parts = {
        "failures": f"Failures ({_failed(section):,})" if not section.ok else "",
        "backends": "Backends",
        "matrix": "Samplers",
        "times": "Time per sampler" if section.times else "",
        "suites": "Suites",
        "accepted": f"Allowed differences ({len(section.accepted):,})" if section.accepted else "",
        "speed": "Speed" if section.timings else "",
        "slow": "Slowest cases",
        "machine": "Machine",
    }
    links = [(title, f"#{b}-{anchor}") for anchor, title in parts.items() if title]
    return doc.Links(f"Parts of {section.bundle}", links)


def _failures(report: Report, section: Section, b: str) -> Iterator[doc.Block]:
    """Yield the findings; of a bundle that passed, only the cases that were skipped."""
    if not section.ok:
        yield doc.Heading(3, f"Failures ({_failed(section):,})", f"{b}-failures")
        if not _failed(section):
            yield doc.Paragraph("No case ran.")
    if section.agreeing:
        lines = [doc.Item(text, "bad") for text in agreement_lines(section.agreeing)]
        yield doc.Heading(4, "Backends that agree with each other", f"{b}-agreement")
        yield doc.Items(lines, "findings")
    yield from failures(report, section)
    if section.problems:
        yield problem_table(section)


def _brief(section: Section) -> Iterator[doc.Block]:
    """Yield what Markdown begins with."""
    machine = section.run.machine
    counts = f"{section.steps:,} steps ({section.draws:,} draws), {section.wall_s:,.1f} s"
    met = f"{section.cases_met:,}/{section.cases_judged:,} cases as required on every backend"
    names = (doc.Name(machine.cpu), ", ", doc.Name(machine.system), ", ", doc.Name(machine.libc))
    if section.findings:
        yield doc.InMarkdown([brief(section)])
    if section.problems:
        heading = doc.Heading(3, f"Cases without a result: {len(section.problems):,}")
        yield doc.InMarkdown([heading, problem_table(section)])
    yield doc.InMarkdown([doc.Paragraph((f"{met}, {counts}, on ", *names, "."))])


def _accepted(section: Section, b: str, most: int) -> Iterator[doc.Block]:
    n = len(section.accepted)
    if not n:
        return
    yield doc.Heading(3, "Allowed differences", f"{b}-accepted")
    summary = f"{n:,} results that are not identical and that their cases allow"
    caption = "Results that are not identical, with a verdict that the case allows."
    yield doc.Fold(summary, [differences(caption, section.accepted, most)])


def _end(section: Section, b: str) -> Iterator[doc.Block]:
    n = len(section.slowest)
    block = slowest_table(section) if n else doc.Paragraph("No case ran.")
    yield from (doc.Heading(3, "Slowest cases", f"{b}-slow"), folded(n, "case", 0, [block]))
    heading = doc.Heading(3, "Machine and versions", f"{b}-machine")
    yield from (heading, machine_line(section.run), machine_fold(section.run))


def backend_table(section: Section) -> doc.Table:
    """Return what ran, and how often it met what the cases require."""
    rows: doc.Rows = []
    for s in section.backends:
        gone = [("unavailable: ", doc.Name(s.unavailable))] if s.unavailable else []
        facts = doc.Name(" ".join(filter(None, (s.version, s.build, device_label(s.device)))))
        times = [doc.num(duration(seconds * 1e9)) for seconds in (s.backend_s, s.wall_s)]
        met = share_of(s.tally.met, s.tally.judged) if s.tally.cases else "no case"
        name = doc.Lines([doc.Name(s.name), *gone])
        facts_cell = doc.TableCell(facts, kind="text")
        rows.append([name, tally_cell(s.tally, failed=False), doc.num(met), *times, facts_cell])
    return doc.Table(
        "The backends, and how often they met the requirements of the cases. The worst first.",
        "Backend | Verdicts | As required | Own calls | Wall time | Version, build, device",
        rows,
        style="stacked",
        markdown="backend | as required | verdicts | version, build, device",
    )


def verdict_table(
    section: Section, rows: Sequence[ParityRow], head: str, caption: str
) -> doc.Table:
    """Return cases by verdict: a row for each sampler or suite, a column for each backend."""
    names = [summary.name for summary in section.backends]
    cells: doc.Rows = []
    for row in rows:
        digest = [doc.Toned(doc.Code(row.digest[:12]), "quiet")] if row.digest else []
        tallies = [_tally(row, name) for name in names]
        key = doc.Lines([doc.Name(row.key or "(none)"), *digest])
        cells.append([key, doc.num(f"{row.cases:,}"), *tallies])
    heads: list[doc.Inline] = [head, "Cases", *map(doc.Name, names)]
    return doc.Table(caption, heads, cells, style="sticky", what="samplers")


def _tally(row: ParityRow, name: str) -> doc.TableCell:
    tally = row.backends[name]
    if row.cases and not tally.cases:
        return doc.TableCell("no case comes so far", "quiet")
    return tally_cell(tally)


def counts(tally: Tally) -> list[str]:
    """Return "n/N identical", then the other verdicts, the worst first."""
    if not tally.cases:
        return ["no case"]
    parts = [f"{tally.verdicts.get('identical', 0):,}/{tally.judged:,} identical"]
    verdicts = [v for v in reversed(ORDER) if v != "identical" and v in tally.verdicts]
    parts += [f"{tally.verdicts[verdict]:,} {verdict}" for verdict in verdicts]
    return [*parts, *([f"{tally.not_run:,} not run"] if tally.not_run else [])]


def tally_cell(tally: Tally, failed: bool = True) -> doc.TableCell:
    """Return the cell of a tally. failed: with how many cases are not as required."""
    *parts, last = counts(tally)
    n = tally.judged - tally.met
    last_part = (last, " (", doc.Strong(f"{n:,} failed"), ")") if n and failed else last
    return doc.TableCell(doc.Lines([*parts, last_part], "whole"), _tone(tally))


def _tone(tally: Tally) -> doc.Tone:
    """Return bad: a case is not as required. good: all identical. fair: all as required. quiet:
    none, or all were skipped."""
    if tally.met < tally.judged:
        return "bad"
    if not tally.judged:
        return "quiet"
    return "good" if tally.verdicts.get("identical", 0) == tally.judged else "fair"


def problem_table(section: Section) -> doc.Table:
    """Return the cases that fail on every backend."""
    return doc.Table(
        "Cases that fail on every backend: the reference refused them or missed what is known from "
        "elsewhere, or they ran nowhere.",
        "Case | Kind | Why | Replay",
        [
            [
                doc.Name(p.case),
                doc.TableCell(p.kind, kind="keep"),
                doc.TableCell(doc.Name(p.detail), kind="wide"),
                doc.Code(p.replay),
            ]
            for p in section.problems
        ],
        style="stacked",
        most=20,
        what="cases without a result",
    )


def speed_blocks(section: Section, few: int) -> Iterator[doc.Block]:
    """Yield the ratio rule, each timing and a picture of the ratios."""
    timings = section.timings
    if not timings:
        none = "No sampler was timed next to the reference in this run."
        yield doc.InHtml([doc.Paragraph(none)])
        return
    met = f"{sum(row.rule.met is True for row in timings)}/{len(timings)}"
    rule = "Rule: the median of the reference is at most 2 × that of llama.cpp + 50 µs."
    yield doc.InHtml([doc.Paragraph(f"{rule} Met by {met}.")])
    yield doc.InMarkdown([doc.Heading(3, f"Speed: {met} within 2 x llama.cpp + 50 µs")])
    head = "Sampler | Vocabulary | Backend | Median | Slow end | Ratio to llama.cpp | Rule | Parity"
    table = doc.Table(
        "Time of one application of the chain. Ratio of medians to llama.cpp with its bootstrap "
        "95% interval, whole rounds drawn together. Rows that miss the rule first.",
        head,
        [_timed(t, timed) for t in timings for timed in t.backends],
        most=40,
    )
    yield folded(len(timings), "timed chain", few, [table])
    yield doc.Picture(
        "Chart of the ratios",
        "Ratio of medians, logarithmic; dot and whiskers: ratio and its 95% interval; upright "
        "mark: what the rule allows. The table above has the figures.",
        partial(ratios, timings),
    )


def _timed(t: Timing, timed: TimedBackend) -> doc.Cells:
    """Return a row; the rule and the parity stand once, in the row of the first backend."""
    ratio = "" if timed.name == "llama.cpp" else "no ratio"
    if r := timed.ratio:
        ratio = factor(r.value, r.low, r.high)
        ratio += " (one round: no interval)" if r.low is None else ""
    first = timed == t.backends[0]
    ok = t.parity_met == t.parity_cases and t.parity_cases
    parity = doc.num(f"{t.parity_met:,}/{t.parity_cases:,}", "good" if ok else "bad")
    return [
        doc.TableCell(doc.Name(t.sampler), kind="keep"),
        doc.num(f"{t.n_vocab:,}"),
        doc.TableCell(doc.Name(timed.name), kind="keep"),
        doc.num(duration(timed.median_ns)),
        tail(timed.p99_ns, timed.p999_ns, timed.samples),
        doc.TableCell(ratio, kind="keep"),
        *([_rule(t), parity] if first else ["", ""]),
    ]


def _rule(t: Timing) -> doc.TableCell:
    if t.rule.limit_ns is None:
        return doc.judged(f"not judged: {t.rule.why}", "bad")
    text = f"{'met' if t.rule.met else 'NOT met'}: at most {duration(t.rule.limit_ns)}"
    return doc.judged(text, "good" if t.rule.met else "bad")


def ratios(timings: Sequence[Timing], salt: str) -> str:
    """Draw the reference's ratio to llama.cpp and the ratio that the rule allows."""
    marks = []
    for t in timings:
        by_name = {backend.name: backend for backend in t.backends}
        native = by_name["llama.cpp"].median_ns if "llama.cpp" in by_name else 0.0
        r = by_name["reference"].ratio if "reference" in by_name else None
        if r and native:
            limit = None if t.rule.limit_ns is None else t.rule.limit_ns / native
            low, high = (r.value if bound is None else bound for bound in (r.low, r.high))
            label = f"{t.sampler} V={t.n_vocab:,}"
            marks.append(ForestLine(label, low, r.value, high, DOT, limit=limit))
    return forest(marks, "median of the reference / median of llama.cpp", salt)


def slowest_table(section: Section) -> doc.Table:
    """Return the cases that took longest."""
    names = [summary.name for summary in section.backends]
    rows: doc.Rows = [
        [
            c.case,
            doc.num(f"{c.steps:,}"),
            doc.num(duration(c.reference_s * 1e9)),
            *(
                doc.num(duration(c.wall_s[name] * 1e9) if name in c.wall_s else "not run")
                for name in names
            ),
        ]
        for c in section.slowest
    ]
    return doc.Table(
        "The cases that took longest: seconds on the reference and on each backend, transport and "
        "comparison included.",
        ["Case", "Steps", "reference, in process", *names],
        rows,
    )


def tested(bundles: list[Bundle]) -> list[Bundle]:
    """Return those that hold cases, or nothing at all, which is a failure."""
    return [bundle for bundle in bundles if not bundle.has_no_case]


def summary(report: Report) -> PageSummary:
    """Return the worst groups of failures, and counts for every backend."""
    return PageSummary(
        report.ok,
        headlines(report),
        lines=terminal_lines(report),
        last=last_line(report),
        findings=findings(report),
        heat_map=heat_map(report),
    )


PARITY = Page[list[Bundle], Report](
    stem="parity",
    title="Parity",
    answers="Is every sampler on every backend the reference's, stage by stage and to the bit?",
    model=Report,
    build=lambda bundles: report_of(tested(bundles)) if tested(bundles) else None,
    document=document,
    summary=summary,
    junit_tests=lambda bundles, report: junit_tests(report, tested(bundles)),
)
