"""index.html: what was checked, on which backends, the results, and links to the other pages."""

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Any

from sampler_parity.harness.failures.format_difference import differing_lines, in_one_line
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reference.registry import REFERENCE_ROWS
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import device_label, duration, several, state_of
from sampler_parity.reports.page import HeatCell, HeatMap, Page, PageSummary
from sampler_parity.reports.pages.index.index_model import (
    CheckedBackend,
    Index,
    Made,
    Overview,
    PageLine,
    SuiteCount,
    Told,
    index_of,
)
from sampler_parity.reports.pages.index.index_sarif import sarif
from sampler_parity.reports.parts import OPEN, folded, state, times_part
from sampler_parity.reports.pictures.stages import CHART, of_counterexample, of_minimized

MOST_NAMES = 4  # backends in a line
FIRST = 2  # samplers of a suite
FULL_WIDTH = 3  # backends: tables of so many have the whole width
FINDINGS, FOLDED = 12, 400  # shown at once, and folded
EXAMPLE: dict[str, Any] = {
    "id": "example",
    "description": "a row of ten logits",
    "why": "shows what each stage does",
    "chain": [{"top_k": {"k": 7}}, {"top_p": {"p": 0.9}}, {"temp": {"temp": 0.6}}],
    "logits": {"rows": [[1.5, 3.25, 0.5, 2.75, -1.0, 2.0, 0.0, 2.25, 1.0, -0.5]]},
}
EXAMPLE_CAPTION = (
    "The reference takes a row of ten logits through top_k (7), top_p (0.9) and temp (0.6): each "
    "panel shows the probabilities before and after a stage, and × marks a token that it removes."
)
BRIEF = 8  # findings in Markdown
ROWS = 12  # of a table that are shown at once: of backends, and after a failure of others
BUNDLES = 100  # in Markdown


def verdict_counts(backend: CheckedBackend) -> str:
    """Return its cases by verdict: "351/363 identical, 12 diverged"."""
    if backend.unavailable:
        return f"did not run: {backend.unavailable}"
    if not backend.cases:
        return "no case"
    parts = [f"{backend.verdicts.get('identical', 0):,}/{backend.cases:,} identical"]
    verdicts = [verdict for verdict in reversed(ORDER) if verdict != "identical"]
    parts += [f"{backend.verdicts[v]:,} {v}" for v in verdicts if v in backend.verdicts]
    return ", ".join(parts)


def required_text(backend: CheckedBackend) -> str:
    """Return how many of its cases are as required."""
    if backend.unavailable:
        return "not run"
    return f"{backend.met:,}/{backend.cases:,}" if backend.cases else "no case"


def contents(bundle: Made) -> str:
    """Return what a bundle has: "363 cases in 380 steps, 17 distribution tests"."""
    parts = []
    if bundle.cases:
        parts.append(f"{several(bundle.cases, 'case')} in {several(bundle.steps, 'step')}")
    parts += [several(n, what) for what, n in bundle.others.items()]
    return ", ".join(parts) or "no case"


def totals(index: Index) -> str:
    """Return what all bundles have."""
    parts = []
    if index.cases:
        parts = [several(index.cases, "case"), several(index.steps, "step")]
    names = dict.fromkeys(what for bundle in index.bundles for what in bundle.others)
    sums = {what: sum(bundle.others.get(what, 0) for bundle in index.bundles) for what in names}
    parts += [several(n, what) for what, n in sums.items()]
    if index.samplers:
        parts.append(several(len(index.samplers), "sampler"))
    return ", ".join([*(parts or ["no case"]), several(len(index.backends), "backend")])


def run_line(index: Index) -> str:
    """Return project, version, date, how much ran, and each backend with its device, if few."""
    versions = ", ".join(sorted({bundle.version for bundle in index.bundles}))
    days = sorted({bundle.started[:16].replace("T", " ") for bundle in index.bundles})
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    ran = [backend for backend in index.backends if not backend.unavailable]
    names = dict.fromkeys(
        ", ".join(filter(None, (" ".join((b.name, b.version)), device_label(b.device))))
        for b in ran
    )
    on = "; ".join(names) if len(names) <= MOST_NAMES else several(len(names), "backend")
    much = f"{several(index.cases, 'case')}, {several(index.steps, 'step')}"
    return f"sampler-parity {versions}, {when} UTC. {much}, on {on or 'no backend'}."


def suite_samplers(suite: SuiteCount) -> str:
    """Return how many cases use each sampler: "top_p 363, dist 12, +3"."""
    parts = [f"{name} {n:,}" for name, n in list(suite.samplers.items())[:FIRST]]
    rest = len(suite.samplers) - len(parts)
    return ", ".join([*parts, *([f"+{rest:,}"] if rest else [])])


def not_judged_lines(index: Index) -> list[str]:
    """Return what has no verdict: backends, skipped cases, samplers and pages."""
    lines = [
        f"{b.name} of {b.bundle}: did not run: {one_line(b.unavailable, 200)}"
        for b in index.backends
        if b.unavailable
    ]
    lines += [
        f"{b.name} of {b.bundle}: {several(b.verdicts['skipped'], 'case')} skipped: the backend "
        "does not claim what they need"
        for b in index.backends
        if b.verdicts.get("skipped")
    ]
    untested = [name for name in REFERENCE_ROWS if name not in index.samplers]
    lines += [f"No case: {', '.join(untested)}"] if index.cases and untested else []
    return lines + [f"{title}: not measured in these bundles" for title in index.missing]


def heat_text(cell: HeatCell) -> str:
    """Return what stands in a cell of the map."""
    if not cell.cases:
        return "skipped" if cell.skipped else ""
    if cell.failing:
        return f"{cell.failing:,}/{cell.cases:,}"
    return f"{cell.cases:,}, {cell.allowed:,} differ" if cell.allowed else f"{cell.cases:,}"


def heat_tone(cell: HeatCell) -> Tone:
    """Return the colour of a cell of the map."""
    if not cell.cases:
        return "quiet"
    if not cell.failing:
        return "fair" if cell.allowed else "good"
    share = cell.failing / cell.cases
    return "hot1" if share < 0.1 else "hot2" if share < 0.5 else "hot3"


def document(index: Index) -> doc.Document:
    """Return the page of an index."""
    failing = bool(index.findings and index.findings[0].fails)
    sides = [[*_map(index.heat_map)], [] if failing or not index.heat_map else [*_example()]]
    few = ROWS if failing else OPEN
    tables = [[*_suites(index, few)], [*times_part(index.times, 2, "times", few)]]
    if len({backend.name for backend in index.backends}) < FULL_WIDTH:
        parts: list[doc.Block] = [doc.Columns(sides), doc.Columns(tables)]
    else:
        parts = [block for side in (*sides, *tables) for block in side]
    blocks = [
        doc.InHtml([state(index.ok, f"{totals(index)}."), doc.Paragraph(run_line(index))]),
        *_findings(index),
        doc.InHtml(parts),
        *_results(index),
        doc.InHtml([*_not_judged(index)]),
        *_backends(index),
        doc.InHtml([doc.Heading(2, "Sources", "bundles")]),
        *(doc.InHtml([_fold(bundle, len(index.bundles) == 1)]) for bundle in index.bundles),
        *(doc.InMarkdown([_brief(bundle)]) for bundle in index.bundles[:BUNDLES]),
    ]
    title = f"sampler-parity: {state_of(index.ok)}"
    return doc.Document(title, "sampler-parity: samplers against their reference", [], blocks)


def _example() -> Iterator[doc.Block]:
    """Yield a fixed row on its way through a chain: the reference computes it for this page."""
    yield doc.Heading(2, "A row goes through a chain", "example")
    draw = partial(of_counterexample, EXAMPLE)
    yield doc.Picture("Chart of the probabilities, example", EXAMPLE_CAPTION, draw)


def _suites(index: Index, few: int) -> Iterator[doc.Block]:
    if not index.suites:
        return
    yield doc.Heading(2, "Samplers by suite", "suites")
    caption = "Cases of each suite, and how many of them use its most frequent samplers; +: others."
    rows: doc.Rows = [
        [
            doc.Name(suite.suite.removeprefix("parity/") or "(none)"),
            *(doc.num(f"{n:,}") for n in (suite.cases, suite.steps)),
            doc.TableCell(doc.Untrusted(suite_samplers(suite)), kind="text"),
        ]
        for suite in index.suites
    ]
    table = doc.Table(caption, "Suite | Cases | Steps | Samplers", rows, style="stacked")
    yield folded(len(rows), "suite", few, [table], False)


def _not_judged(index: Index) -> Iterator[doc.Block]:
    lines = [doc.Item(text, "quiet") for text in not_judged_lines(index)]
    yield doc.Heading(2, "Not judged", "not-judged")
    yield doc.Items(lines, "findings") if lines else doc.Paragraph("Nothing was left out.")


def _map(heat_map: HeatMap | None) -> Iterator[doc.Block]:
    if heat_map is None:
        return
    rows: doc.Rows = [
        [one_line(row.sampler, 40), *(_heat(heat_map.stem, cell) for cell in row.cells)]
        for row in heat_map.rows
    ]
    legend: dict[doc.Tone, str] = {
        "good": "all identical",
        "fair": "differs as allowed",
        "hot1": "fails: under 10%",
        "hot2": "under 50%",
        "hot3": "more",
        "quiet": "skipped, or no case",
    }
    spans = [(doc.Toned(text, tone), " ") for tone, text in legend.items()]
    yield doc.Heading(2, "Samplers by backend", "map")
    yield doc.Table(
        "Cases of each sampler; where some fail, how many of how many, and the worst of it. A case "
        "counts for the sampler at which it first differs.",
        ["Sampler", *(one_line(name, 60) for name in heat_map.backends)],
        rows,
        style="heat sticky",
    )
    yield doc.Paragraph(tuple(spans), style="legend")


def _heat(stem: str, cell: HeatCell) -> doc.TableCell:
    link = doc.Link(f"{heat_text(cell)} {cell.worst}", f"{stem}.html#{cell.anchor}")
    return doc.TableCell(link if cell.anchor else heat_text(cell), heat_tone(cell))


def _findings(index: Index) -> Iterator[doc.Block]:
    if not index.findings:
        return
    items = [_finding(finding) for finding in index.findings]
    first = index.findings[0]
    card = [_card(first)] if first.fails and first.replay else []
    more = doc.Items(items[FINDINGS : FINDINGS + FOLDED], "findings")
    left_out = len(items) - FINDINGS - FOLDED
    note = [doc.Paragraph(f"{left_out:,} more findings are in the JSON.")] if left_out > 0 else []
    fold = [doc.Fold(f"{len(items) - FINDINGS:,} more", [more, *note])] if items[FINDINGS:] else []
    first_items = doc.Items(items[len(card) : FINDINGS], "findings")
    yield doc.InHtml(
        [
            doc.Heading(2, "Findings", "findings"),
            *card,
            *([first_items] if first_items.items else []),
            *fold,
        ]
    )
    brief = [
        (
            doc.Strong("finding") if finding.fails else "finding",
            ": ",
            doc.Untrusted(finding.text, 220),
        )
        for finding in index.findings
    ]
    yield doc.InMarkdown([doc.Items(brief, most=BRIEF, what="more findings")])


def _card(finding: Told) -> doc.Card:
    """Return the first finding in full: its sentence, how to run it again, and its picture."""
    blocks: list[doc.Block] = [doc.Paragraph("Replay:"), doc.Pre(finding.replay)]
    if small := finding.minimized:
        case = doc.Code(one_line(in_one_line(small.case), 400))
        facts: list[doc.Block] = [
            doc.Paragraph(("Smallest input: ", case)),
            *(doc.Paragraph(doc.Untrusted(line)) for line in differing_lines(small)),
        ]
        draw = partial(of_minimized, small)
        picture = doc.Picture("Chart of the probabilities, first finding", CHART, draw)
        blocks.append(doc.Columns([facts, [picture]]))
    link = doc.Link(one_line(finding.text, 400), f"{finding.stem}.html#{finding.anchor}")
    return doc.Card(link, "first-finding", blocks, level=3)


def _finding(finding: Told) -> doc.Item:
    link = doc.Link(one_line(finding.text, 220), f"{finding.stem}.html#{finding.anchor}")
    return doc.Item(
        (link, " ", doc.Toned(finding.title, "quiet")), "bad" if finding.fails else "fair"
    )


def _results(index: Index) -> Iterator[doc.Block]:
    missing = [f"{title}: not measured in these bundles" for title in index.missing]
    items = [_result(page) for page in index.pages]
    yield doc.InHtml([doc.Heading(2, "Results", "results"), doc.Items(items, "pages")])
    brief = [
        (
            *(doc.Strong(page.title), _verdict(page)),
            *(": ", doc.Untrusted("; ".join(page.figures), 600)),
        )
        for page in index.pages
    ]
    yield doc.InMarkdown([doc.Items([*brief, *missing])])


def _verdict(page: PageLine) -> doc.Inline:
    if page.ok is None:
        return ""
    return " ok" if page.ok else (" ", doc.Strong("FAILED"))


def _result(page: PageLine) -> doc.Item:
    tone: doc.Tone = "fair" if page.ok is None else "good" if page.ok else "bad"
    state = "measured" if page.ok is None else state_of(page.ok)
    return doc.Item((doc.Link(page.title, f"{page.stem}.html"), f": {state}"), tone, page.figures)


def _backends(index: Index) -> Iterator[doc.Block]:
    yield doc.InHtml([doc.Heading(2, "Checked backends", "checked")])
    table = doc.Table(
        "Every backend of every bundle.",
        "Backend | Bundle | As required | Verdicts | Version, build | Device | Judged by",
        [_backend(backend) for backend in index.backends],
        style="stacked",
        markdown="backend | bundle | as required | verdicts | version, build",
        most=100,
        what="more backends",
    )
    n = len(index.backends)
    what = "1 backend of a bundle" if n == 1 else f"{n} backends of bundles"
    yield doc.Fold(what, [table], n <= ROWS, markdown=True)
    if index.samplers:
        yield doc.InHtml([doc.Paragraph(f"Samplers: {', '.join(index.samplers)}.")])


def _backend(b: CheckedBackend) -> doc.Cells:
    tone: doc.Tone = "good" if b.cases else "quiet"
    tone = "bad" if b.unavailable or b.met < b.cases else tone
    return [
        doc.Name(b.name),
        doc.Name(b.bundle),
        doc.num(required_text(b), tone),
        doc.TableCell(doc.Untrusted(verdict_counts(b)), kind="text"),
        doc.TableCell(doc.Name(" ".join(filter(None, (b.version, b.build)))), kind="text"),
        doc.TableCell(one_line(device_label(b.device), 60), kind="text"),
        b.judged_by,
    ]


def _brief(bundle: Made) -> doc.Paragraph:
    machine, command = doc.Name(bundle.machine.cpu), doc.Name(shlex.join(bundle.command), 300)
    what = (
        doc.Name(bundle.name),
        f": {contents(bundle)}, ",
        doc.Name(bundle.started),
        ", ",
        machine,
    )
    return doc.Paragraph((*what, ", ", command, ", sha256 ", doc.Name(bundle.sha256[:16])))


def _fold(bundle: Made, is_open: bool) -> doc.Fold:
    m = bundle.machine
    took = f"{bundle.started}, took {duration(bundle.wall_s * 1e9)}"
    packages = [(name, version) for name, version in sorted(m.packages.items())]
    dependencies = [f"{name} {version}" for name, version in packages if name != "sampler-parity"]
    versions = [f"sampler-parity {bundle.version}", f"Python {m.python}", *dependencies]
    system = [m.system, m.machine, m.libc, *([m.libm] if m.libm else [])]
    memory = f"{m.memory_bytes / 1073741824:.1f} GiB"
    digests = doc.Facts([(name, doc.Code(sha)) for name, sha in sorted(bundle.suites.items())])
    suites: list[doc.Block] = [doc.Fold(f"Digests of {len(bundle.suites)}", [digests])]
    facts = doc.Facts(
        [
            ("Started", f"{took}; profile {bundle.profile}, seed {bundle.seed}"),
            ("Command", doc.Code(shlex.join(bundle.command))),
            ("Machine", f"{m.cpu}, {m.cores} logical cores, {memory}"),
            ("System", ", ".join(system)),
            ("Versions", ", ".join(versions)),
            ("SHA-256", (doc.Code(bundle.sha256), " of run.json and results.jsonl")),
            *([("Suites", suites)] if bundle.suites else []),
        ]
    )
    return doc.Fold((doc.Strong(bundle.name), f": {contents(bundle)}"), [facts], is_open)


INDEX = Page[Overview, Index](
    stem="index",
    title="Overview",
    answers="What was checked, on what, and what came of it?",
    model=Index,
    build=index_of,
    document=document,
    summary=lambda index: PageSummary(index.ok, []),
    sarif=sarif,
)
