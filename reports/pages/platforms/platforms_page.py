"""Does a seed repeat on another platform, and what parts it? A table of platforms by sampler, then
the operation that makes each difference.
"""

from collections.abc import Iterator

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import share_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary, anchor
from sampler_parity.reports.pages.platforms.platforms_model import (
    Column,
    PlatformCell,
    PlatformsReport,
    report_of,
)

PARTS = {
    "contraction": "Contraction",
    "conversion": "Float to int",
    "sorting": "Sorting",
    "random": "Random numbers",
    "libm": "C library",
}


def level_of(cell: PlatformCell) -> str:
    """Return the worst that differs there, with how many are alike: "texts 3/4", "alike"."""
    facts = [
        ("texts", cell.same_texts, cell.texts),
        ("tokens", cell.tokens, cell.drawing),
        ("survivors", cell.survivors, cell.cases),
        ("order", cell.order, cell.cases),
        ("bits", cell.bits, cell.cases),
    ]
    worst = (f"{name} {same:,}/{cases:,}" for name, same, cases in facts if same < cases)
    return next(worst, "alike")


def tone_of(cell: PlatformCell | None) -> Tone:
    """Return good: to the bit; fair: the same tokens; bad: other tokens or survivors."""
    if cell is None:
        return "quiet"
    if cell.bits == cell.cases:
        return "good"
    same = cell.tokens == cell.drawing and cell.survivors == cell.cases
    return "fair" if same else "bad"


def texts_of(cell: PlatformCell) -> str:
    """Return "3/4, from token 17 on"."""
    turned = f", from token {cell.token + 1} on" if cell.token is not None else ""
    return share_of(cell.same_texts, cell.texts, "") + turned


def basis_of(column: Column) -> str:
    """Return what the prediction of a platform rests on."""
    if not column.builds:
        return "predicted; no build of it was asked"
    judged = sum(build.judged for build in column.builds)
    identical = sum(build.identical for build in column.builds)
    return f"{identical:,}/{judged:,} cases of real builds are as predicted"


def headlines(report: PlatformsReport) -> list[str]:
    """Return what the report comes to, a line each."""
    lines = [f"{report.cases:,} cases predicted on {len(report.platforms):,} platforms"]
    if report.builds:
        judged = sum(build.judged for build in report.builds)
        identical = sum(build.identical for build in report.builds)
        lines.append(
            f"{identical:,}/{judged:,} identical to it on {len(report.builds):,} real builds"
        )
    return lines


def document(report: PlatformsReport) -> doc.Document:
    """Return the page of a report."""
    state = {True: "ok", False: "FAILED", None: ""}[report.ok]
    lines = headlines(report)
    intro = (
        f"The same source, logits and seed on other platforms, compared with {report.here}: what "
        "the reference predicts of each, and what real builds did. Each cell leads to the "
        "operation that makes the difference, with a small case and its two values."
    )
    verdict = f"{state}{': ' * bool(state)}{'; '.join(lines)}."
    legend = (
        *(doc.Toned("alike: to the bit", "good"), " "),
        *(doc.Toned("other bits or order, the same tokens", "fair"), " "),
        doc.Toned("other tokens or survivors", "bad"),
    )
    steady = f"To the bit on all of them: {', '.join(report.steady)}."
    blocks = [
        doc.InHtml([doc.Paragraph(verdict, "bad" if report.ok is False else "good", "state")]),
        doc.InMarkdown([doc.Items(lines)]),
        doc.Heading(2, "Platforms on which a seed repeats", "samplers"),
        doc.Paragraph(legend, style="legend"),
        _samplers(report),
        *([doc.InHtml([doc.Paragraph(steady)])] if report.steady else []),
        doc.Heading(2, "Deciding operations", "decides"),
        _decides(report),
        doc.InHtml([doc.Heading(2, "Platform by platform", "each")]),
        *(block for platform in report.platforms for block in _platform(report, platform)),
    ]
    title = f"Platforms{': ' * bool(state)}{state}"
    return doc.Document(title, "Platforms", [doc.Paragraph(intro)], blocks)


def _samplers(report: PlatformsReport) -> doc.Table:
    rows: doc.Rows = []
    for platform in report.platforms:
        real = doc.Toned("real" if platform.builds else "predicted", "quiet", small=True)
        name = doc.Link(doc.Name(platform.name), f"#{anchor(platform.name)}")
        total = doc.TableCell(level_of(platform.whole), tone_of(platform.whole))
        cells = [_cell(platform, sampler) for sampler in report.samplers]
        rows.append([(name, " ", real), total, *cells])
    return doc.Table(
        "The worst that differs at a sampler, and how many are the same: of the texts and cases "
        "that part there first, or go through it and part nowhere.",
        ["Platform", "All", *map(doc.Name, report.samplers)],
        rows,
        style="compact sticky stacked",
    )


def _cell(platform: Column, sampler: str) -> doc.TableCell:
    cell = platform.cell(sampler)
    text = level_of(cell) if cell else ""
    parts = cell is not None and cell.bits < cell.cases
    link = doc.Link(text, f"#{anchor(platform.name, sampler)}")
    return doc.TableCell(link if parts else text, tone_of(cell))


def _decides(report: PlatformsReport) -> doc.Table:
    rows: doc.Rows = []
    for platform in report.platforms:
        builds = [
            doc.Toned(
                (doc.Name(b.name), f": {share_of(b.identical, b.judged)}"), "quiet", small=True
            )
            for b in platform.builds
        ]
        decides = [doc.Untrusted(platform.row.get(part, "")) for part in PARTS]
        rests = doc.TableCell(doc.Lines([basis_of(platform), *builds]), kind="text")
        rows.append([doc.Name(platform.name), *decides, rests])
    caption = "The parts of each platform, and what a prediction of it rests on."
    return doc.Table(
        caption, " | ".join(["Platform", *PARTS.values(), "Rests on"]), rows, "stacked"
    )


def _platform(report: PlatformsReport, platform: Column) -> Iterator[doc.Block]:
    unknown = f" Not known: {'; '.join(platform.unknown)}." if platform.unknown else ""
    about = f"{basis_of(platform)}.{unknown}"
    brief = doc.InMarkdown([doc.Paragraph(f"{platform.words}. {about}")])
    rows = [["all", *_figures(platform.whole)]]
    for cell in platform.parting:
        link = doc.Link(doc.Name(cell.sampler), f"#{anchor(platform.name, cell.sampler)}")
        rows.append([link, *_figures(cell)])
    table = doc.Table(
        f"How many are the same as on {report.here}.",
        "Sampler | Bits | Order | Survivors | Tokens | Texts | Real builds",
        rows,
        style="stacked",
    )
    more = f": {level_of(platform.whole)}{'; ' * bool(platform.words)}{platform.words}"
    heading = doc.Heading(3, doc.Name(platform.name), anchor(platform.name))
    details = [
        heading,
        doc.InHtml([doc.Paragraph(about)]),
        brief,
        table,
        *_operations(platform),
    ]
    yield doc.Fold((doc.Strong(platform.name), more), details, markdown=True)


def _figures(cell: PlatformCell) -> list[doc.Inline]:
    counts = [cell.bits, cell.order, cell.survivors]
    shares = [share_of(n, cell.cases, "") for n in counts]
    tokens, judged = (cell.tokens, cell.drawing), (cell.identical, cell.judged)
    return [*shares, share_of(*tokens, ""), texts_of(cell), share_of(*judged, "")]


def _operations(platform: Column) -> Iterator[doc.Block]:
    for cell in platform.parting:
        heading_id = anchor(platform.name, cell.sampler)
        yield doc.Heading(4, (doc.Name(cell.sampler), " on ", doc.Name(platform.name)), heading_id)
        for o in cell.operations:
            by = doc.Strong((f"{o.cases:,} by ", doc.Untrusted(o.words, 300), "."))
            values = (doc.Code(o.here), ", there ", doc.Code(o.there))
            yield doc.Paragraph((by, " ", doc.Untrusted(o.what), ": here ", *values))
            yield doc.Pre("\n".join(filter(None, [o.smaller, o.replay])))


def summary(report: PlatformsReport) -> PageSummary:
    """Return its headlines, and the builds that are not as predicted."""
    lines = headlines(report)
    findings = [
        PageFinding(
            text=f"{build.name}: {build.judged - build.met:,} of {build.judged:,} cases are not as"
            f" the reference of {platform.name} predicts",
            anchor=anchor(platform.name),
        )
        for platform in report.platforms
        for build in platform.builds
        if build.met < build.judged
    ]
    printed = [f"platform {line}" for line in lines]
    return PageSummary(report.ok, lines, lines=printed, findings=findings)


PLATFORMS = Page[list[Bundle], PlatformsReport](
    stem="platforms",
    title="Platforms",
    answers="Does a seed repeat on another platform, and what parts it?",
    model=PlatformsReport,
    build=report_of,
    document=document,
    summary=summary,
    missed=False,
)
