"""index.html: the verdict, the map, findings, results, and what was checked on what."""

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Any

from sampler_parity.harness.failures.format_difference import differing_lines, in_one_line
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, duration, state_of
from sampler_parity.reports.pages.index import labels
from sampler_parity.reports.pages.index.model import CheckedBackend, Index, Made, PageLine, Told
from sampler_parity.reports.parts import folded, state
from sampler_parity.reports.pictures.stages import CHART, of_counterexample, of_minimized
from sampler_parity.reports.summary import HeatCell, HeatMap
from sampler_parity.reports.times import OPEN, times_part

WIDE = 3  # backends: tables of so many have the whole width
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


def document(index: Index) -> doc.Document:
    """Return the page of an index."""
    failing = bool(index.findings and index.findings[0].fails)
    sides = [[*_map(index.heat_map)], [] if failing or not index.heat_map else [*_example()]]
    few = ROWS if failing else OPEN
    tables = [[*_suites(index, few)], [*times_part(index.times, 2, "times", few)]]
    if len({backend.name for backend in index.backends}) < WIDE:
        parts: list[doc.Block] = [doc.Columns(sides), doc.Columns(tables)]
    else:
        parts = [block for side in (*sides, *tables) for block in side]
    blocks = [
        doc.InHtml([state(index.ok, f"{labels.total(index)}."), doc.Paragraph(labels.run(index))]),
        *_findings(index),
        doc.InHtml(parts),
        *_results(index),
        doc.InHtml([*_not_judged(index)]),
        *_checked(index),
        doc.InHtml([doc.Heading(2, "Sources", "bundles")]),
        *(doc.InHtml([_fold(made, len(index.bundles) == 1)]) for made in index.bundles),
        *(doc.InMarkdown([_brief(made)]) for made in index.bundles[:BUNDLES]),
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
            doc.TableCell(doc.Untrusted(labels.samplers(suite)), kind="text"),
        ]
        for suite in index.suites
    ]
    table = doc.Table(caption, "Suite | Cases | Steps | Samplers", rows, style="stacked")
    yield folded(len(rows), "suite", few, [table], False)


def _not_judged(index: Index) -> Iterator[doc.Block]:
    lines = [doc.Item(text, "quiet") for text in labels.not_judged(index)]
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
    link = doc.Link(f"{labels.heat(cell)} {cell.worst}", f"{stem}.html#{cell.anchor}")
    return doc.TableCell(link if cell.anchor else labels.heat(cell), labels.heat_tone(cell))


def _findings(index: Index) -> Iterator[doc.Block]:
    if not index.findings:
        return
    items = [_finding(told) for told in index.findings]
    first = index.findings[0]
    card = [_card(first)] if first.fails and first.replay else []
    more = doc.Items(items[FINDINGS : FINDINGS + FOLDED], "findings")
    left_out = len(items) - FINDINGS - FOLDED
    note = [doc.Paragraph(f"{left_out:,} more findings are in the JSON.")] if left_out > 0 else []
    fold = [doc.Fold(f"{len(items) - FINDINGS:,} more", [more, *note])] if items[FINDINGS:] else []
    shown = doc.Items(items[len(card) : FINDINGS], "findings")
    yield doc.InHtml(
        [doc.Heading(2, "Findings", "findings"), *card, *([shown] if shown.items else []), *fold]
    )
    brief = [
        (doc.Strong("finding") if told.fails else "finding", ": ", doc.Untrusted(told.text, 220))
        for told in index.findings
    ]
    yield doc.InMarkdown([doc.Items(brief, most=BRIEF, what="more findings")])


def _card(told: Told) -> doc.Card:
    """Return the first finding in full: its sentence, how to run it again, and its picture."""
    blocks: list[doc.Block] = [doc.Paragraph("Replay:"), doc.Pre(told.replay)]
    if small := told.minimized:
        case = doc.Code(one_line(in_one_line(small.case), 400))
        facts: list[doc.Block] = [
            doc.Paragraph(("Smallest input: ", case)),
            *(doc.Paragraph(doc.Untrusted(line)) for line in differing_lines(small)),
        ]
        draw = partial(of_minimized, small)
        picture = doc.Picture("Chart of the probabilities, first finding", CHART, draw)
        blocks.append(doc.Columns([facts, [picture]]))
    link = doc.Link(one_line(told.text, 400), f"{told.stem}.html#{told.anchor}")
    return doc.Card(link, "first-finding", blocks, level=3)


def _finding(told: Told) -> doc.Item:
    link = doc.Link(one_line(told.text, 220), f"{told.stem}.html#{told.anchor}")
    return doc.Item((link, " ", doc.Toned(told.title, "quiet")), "bad" if told.fails else "fair")


def _results(index: Index) -> Iterator[doc.Block]:
    missing = [f"{title}: not measured in these bundles" for title in index.missing]
    shown = [_result(page) for page in index.pages]
    yield doc.InHtml([doc.Heading(2, "Results", "results"), doc.Items(shown, "pages")])
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


def _checked(index: Index) -> Iterator[doc.Block]:
    yield doc.InHtml([doc.Heading(2, "Checked backends", "checked")])
    table = doc.Table(
        "Every backend of every bundle.",
        "Backend | Bundle | As required | Verdicts | Version, build | Device | Judged by",
        [_backend(backend) for backend in index.backends],
        style="stacked",
        markdown="backend | as required | verdicts | version, build",
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
        doc.num(labels.required(b), tone),
        doc.TableCell(doc.Untrusted(labels.counted(b)), kind="text"),
        doc.TableCell(doc.Name(" ".join(filter(None, (b.version, b.build)))), kind="text"),
        doc.TableCell(one_line(device_label(b.device), 60), kind="text"),
        b.judged_by,
    ]


def _brief(made: Made) -> doc.Paragraph:
    machine, command = doc.Name(made.machine.cpu), doc.Name(shlex.join(made.command), 300)
    what = (doc.Name(made.name), f": {labels.held(made)}, ", doc.Name(made.started), ", ", machine)
    return doc.Paragraph((*what, ", ", command, ", sha256 ", doc.Name(made.sha256[:16])))


def _fold(made: Made, is_open: bool) -> doc.Fold:
    m = made.machine
    took = f"{made.started}, took {duration(made.wall_s * 1e9)}"
    packages = [(name, version) for name, version in sorted(m.packages.items())]
    others = [f"{name} {version}" for name, version in packages if name != "sampler-parity"]
    versions = [f"sampler-parity {made.version}", f"Python {m.python}", *others]
    system = [m.system, m.machine, m.libc, *([m.libm] if m.libm else [])]
    memory = f"{m.memory_bytes / 1073741824:.1f} GiB"
    digests = doc.Facts([(name, doc.Code(sha)) for name, sha in sorted(made.suites.items())])
    suites: list[doc.Block] = [doc.Fold(f"Digests of {len(made.suites)}", [digests])]
    facts = doc.Facts(
        [
            ("Started", f"{took}; profile {made.profile}, seed {made.seed}"),
            ("Command", doc.Code(shlex.join(made.command))),
            ("Machine", f"{m.cpu}, {m.cores} logical cores, {memory}"),
            ("System", ", ".join(system)),
            ("Versions", ", ".join(versions)),
            ("SHA-256", (doc.Code(made.sha256), " of run.json and results.jsonl")),
            *([("Suites", suites)] if made.suites else []),
        ]
    )
    return doc.Fold((doc.Strong(made.name), f": {labels.held(made)}"), [facts], is_open)
