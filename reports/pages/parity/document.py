"""The parity page: a part for each bundle, then parts over all of them."""

from collections.abc import Iterator

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.pages.parity import tables
from sampler_parity.reports.pages.parity.across import implementations, releases
from sampler_parity.reports.pages.parity.cards import brief, differences, failures
from sampler_parity.reports.pages.parity.hardware import hardware
from sampler_parity.reports.pages.parity.merged import agreement_lines
from sampler_parity.reports.pages.parity.model import Report, Section
from sampler_parity.reports.parts import bundle_heading, folded, machine_fold, machine_line, state
from sampler_parity.reports.times import OPEN, times_part

INTRO = (
    "Samplers compared with the reference, which follows llama.cpp v0.5.0, stage by stage and to "
    "the bit."
)
WIDE = 3  # backends: the tables of so many are not set next to each other
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
    samplers = tables.verdicts(section, section.matrix, "Sampler", COUNTS)
    caption = "Cases by verdict, suite by suite. The worst first."
    suites = tables.verdicts(section, section.suites, "Suite", caption)
    by_sampler = _part(
        *("Samplers by backend and verdict", f"{b}-matrix"),
        folded(len(section.matrix), "sampler", few, [samplers]),
    )
    by_suite = _part("Suites", f"{b}-suites", folded(len(section.suites), "suite", few, [suites]))
    timed = doc.InHtml([*times_part(section.times, 3, f"{b}-times", few)])
    both: list[list[doc.Block]] = [[*by_sampler, timed], [doc.InHtml(by_suite)]]
    narrow = len(section.backends) < WIDE and section.ok
    blocks = [
        bundle_heading(section.bundle, b, f": {state_of(section.ok)}"),
        doc.InHtml([*_top(section), *_failures(report, section, b)]),
        *_brief(section),
        doc.InHtml([_links(section, b)]),
        *_part("Backends", f"{b}-backends", tables.backends(section)),
        *([doc.Columns(both)] if narrow else [block for part in both for block in part]),
        doc.InHtml([*_accepted(section, b, ALLOWED // len(report.sections))]),
        *_part("Speed", f"{b}-speed", *tables.speed(section, few)),
        doc.InHtml([*_end(section, b)]),
    ]
    return doc.Region(b, blocks)


def _part(title: str, place: str, *blocks: doc.Block) -> list[doc.Block]:
    """Return a part that has its heading in HTML alone."""
    return [doc.InHtml([doc.Heading(3, title, place)]), *blocks]


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
    links = [(title, f"#{b}-{place}") for place, title in parts.items() if title]
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
        yield tables.problems(section)


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
        yield doc.InMarkdown([heading, tables.problems(section)])
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
    shown = tables.slowest(section) if n else doc.Paragraph("No case ran.")
    yield from (doc.Heading(3, "Slowest cases", f"{b}-slow"), folded(n, "case", 0, [shown]))
    heading = doc.Heading(3, "Machine and versions", f"{b}-machine")
    yield from (heading, machine_line(section.run), machine_fold(section.run))
