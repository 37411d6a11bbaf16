"""index.html: the verdict, the map, findings, results, and what was checked on what."""

import shlex
from collections.abc import Iterator

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, duration, state_of
from sampler_parity.reports.pages.index import labels
from sampler_parity.reports.pages.index.model import Checked, Index, Made, PageLine, Told
from sampler_parity.reports.parts import state
from sampler_parity.reports.summary import HeatCell, HeatMap

FINDINGS = 12  # shown at once; the others are folded
BRIEF = 8  # findings in Markdown
ROWS = 12  # of the table of backends that are shown at once
BUNDLES = 100  # in Markdown


def document(index: Index) -> doc.Document:
    """Return the page of an index."""
    blocks = [
        doc.InHtml([state(index.ok, f"{labels.total(index)}."), *_map(index.heat_map)]),
        *_findings(index),
        *_results(index),
        *_checked(index),
        doc.InHtml([doc.Heading(2, "Where it comes from", "bundles")]),
        *(doc.InHtml([_fold(made, len(index.bundles) == 1)]) for made in index.bundles),
        *(doc.InMarkdown([_brief(made)]) for made in index.bundles[:BUNDLES]),
    ]
    title = f"sampler-parity: {state_of(index.ok)}"
    return doc.Document(title, "Samplers against their reference", [], blocks)


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
    more = doc.Items(items[FINDINGS:], "findings")
    fold = [doc.Fold(f"{len(items) - FINDINGS:,} more", [more])] if len(items) > FINDINGS else []
    shown = doc.Items(items[:FINDINGS], "findings")
    yield doc.InHtml([doc.Heading(2, "Findings", "findings"), shown, *fold])
    brief = [
        (doc.Strong("finding") if told.fails else "finding", ": ", doc.Untrusted(told.text, 220))
        for told in index.findings
    ]
    yield doc.InMarkdown([doc.Items(brief, most=BRIEF, what="more findings")])


def _finding(told: Told) -> doc.Item:
    link = doc.Link(one_line(told.text, 220), f"{told.stem}.html#{told.anchor}")
    return doc.Item((link, " ", doc.Toned(told.title, "quiet")), "bad" if told.fails else "fair")


def _results(index: Index) -> Iterator[doc.Block]:
    missing = [f"{title}: not measured in these bundles" for title in index.missing]
    shown = [_result(page) for page in index.pages]
    shown += [doc.Item(text, "quiet") for text in missing]
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
    yield doc.InHtml([doc.Heading(2, "What was checked", "checked")])
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


def _backend(b: Checked) -> doc.Cells:
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
