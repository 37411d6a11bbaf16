"""The parity page: a part for each bundle, then what is said over all of them."""

from collections.abc import Iterator

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import state_of
from sampler_parity.reports.pages.parity import tables
from sampler_parity.reports.pages.parity.across import implementations, releases
from sampler_parity.reports.pages.parity.cards import brief, differences, failures
from sampler_parity.reports.pages.parity.hardware import hardware
from sampler_parity.reports.pages.parity.model import Report, Section
from sampler_parity.reports.parts import bundle_heading, folded, machine_fold, state

INTRO = (
    "Samplers compared with the reference, which follows llama.cpp v0.5.0, stage by stage and to "
    "the bit."
)
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
    few = 12 if len(report.sections) == 1 else 0
    samplers = tables.verdicts(section, section.matrix, "Sampler", COUNTS)
    caption = "Cases by verdict, suite by suite. The worst first."
    suites = tables.verdicts(section, section.suites, "Suite", caption)
    blocks = [
        bundle_heading(section.bundle, b, f": {state_of(section.ok)}"),
        doc.InHtml([*_top(section, b), *_failures(report, section, b)]),
        *_brief(section),
        *_part("Backends", f"{b}-backends", tables.backends(section)),
        *_part(
            *("Samplers by backend and verdict", f"{b}-matrix"),
            folded(len(section.matrix), "sampler", few, [samplers]),
        ),
        doc.InHtml([*_accepted(section, b)]),
        doc.InHtml(
            [*_part("Suites", f"{b}-suites", folded(len(section.suites), "suite", few, [suites]))]
        ),
        *_part("Speed", f"{b}-speed", *tables.speed(section, few)),
        doc.InHtml([*_end(section, b)]),
    ]
    return doc.Region(b, blocks)


def _part(title: str, place: str, *blocks: doc.Block) -> list[doc.Block]:
    """Return a part that has its heading in HTML alone."""
    return [doc.InHtml([doc.Heading(3, title, place)]), *blocks]


def _top(section: Section, b: str) -> Iterator[doc.Block]:
    run = section.run
    cases = f"{section.cases_met:,}/{section.cases_judged:,} cases as required on every backend."
    yield state(section.ok, cases if section.cases else "the bundle holds no case.")
    yield doc.Paragraph(
        f"{section.steps:,} steps, {section.draws:,} of them draws; wall time {section.wall_s:,.1f}"
        f" s; started {run.started}; profile {run.profile}, seed {run.seed}.",
        "quiet",
    )
    failed = len(section.failures) + len(section.problems)
    parts = {
        "failures": f"Failures ({failed:,})",
        "backends": "Backends",
        "matrix": "Samplers",
        "accepted": f"Allowed differences ({len(section.accepted):,})",
        "suites": "Suites",
        "speed": "Speed",
        "slow": "Slowest cases",
        "machine": "Machine",
    }
    links = [(title, f"#{b}-{place}") for place, title in parts.items()]
    yield doc.Links(f"Parts of {section.bundle}", links)


def _failures(report: Report, section: Section, b: str) -> Iterator[doc.Block]:
    yield doc.Heading(3, "Failures", f"{b}-failures")
    if not section.failures and not section.problems:
        yield doc.Paragraph("None." if section.ok else "No case ran.")
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


def _accepted(section: Section, b: str) -> Iterator[doc.Block]:
    yield doc.Heading(3, "Allowed differences", f"{b}-accepted")
    n = len(section.accepted)
    summary = f"{n:,} results that are not identical and that their cases allow"
    caption = "Results that are not identical, with a verdict that the case allows."
    none = doc.Paragraph("None.")
    yield doc.Fold(summary, [differences(caption, section.accepted)]) if n else none


def _end(section: Section, b: str) -> Iterator[doc.Block]:
    n = len(section.slowest)
    shown = tables.slowest(section) if n else doc.Paragraph("No case ran.")
    yield from (doc.Heading(3, "Slowest cases", f"{b}-slow"), folded(n, "case", 0, [shown]))
    heading = doc.Heading(3, "Machine and versions", f"{b}-machine")
    yield from (heading, machine_fold(section.run))
