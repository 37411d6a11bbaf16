"""The matrix page: engine x property and engine x sampler, then engine by engine."""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import device_label, state_of
from sampler_parity.reports.pages.matrix import labels
from sampler_parity.reports.pages.matrix.model import CellDifference, EngineRow, Matrix, MatrixCell
from sampler_parity.reports.parts import state

FACETS = "sortable facets compact sticky stacked"
MOST = 200  # differences of an engine in Markdown
INTRO = (
    "Each engine against llama.cpp v0.5.0: first the questions to all, whatever their "
    "arithmetic and random numbers; then sampler by sampler, to the bit. Each cell leads to its "
    "cases, to why they differ and to the command that replays them."
)


def document(matrix: Matrix) -> doc.Document:
    """Return the page of a matrix."""
    lines = labels.headlines(matrix)
    legend = (
        *(doc.Toned("all identical", "good"), " "),
        *(doc.Toned("differs, and why is known", "fair"), " "),
        *(doc.Toned("not as required, or not explained", "bad"), " "),
        doc.Toned("lacks: nothing of it is claimed", "quiet"),
    )
    blocks = [
        doc.InHtml([state(matrix.ok, f"{'; '.join(lines)}.")]),
        doc.InMarkdown([doc.Items(lines)]),
        doc.Heading(2, "Properties", "properties"),
        doc.Paragraph(legend, style="legend"),
        _properties(matrix),
        *([doc.Heading(2, "Samplers", "samplers"), _samplers(matrix)] if matrix.samplers else []),
        doc.InHtml([doc.Heading(2, "Engine by engine", "why"), *map(_engine, matrix.engines)]),
        doc.InMarkdown([block for engine in matrix.engines for block in _brief(engine)]),
        doc.InHtml([*_asked(matrix)]),
        *_absent(matrix),
    ]
    title = f"Engines: {state_of(matrix.ok)}"
    return doc.Document(title, "Engines", [doc.Paragraph(INTRO)], blocks, scripted=True)


def _properties(matrix: Matrix) -> doc.Table:
    drawn = any(engine.law for engine in matrix.engines)
    draws = " Draws: tests that find its own draws equivalent to the exact distribution."
    rows = [
        [*_head(engine, len(matrix.properties) + drawn), *_cells(engine, engine.properties)]
        for engine in matrix.engines
    ]
    if drawn:
        rows = [
            row if engine.unavailable else [*row, _law(engine)]
            for row, engine in zip(rows, matrix.engines, strict=True)
        ]
    return doc.Table(
        f"Identical of judged cases, and how the others differ.{draws * drawn}",
        ["Engine", *(labels.spaced(p.name) for p in matrix.properties), *["draws"] * drawn],
        rows,
        style=FACETS,
    )


def _samplers(matrix: Matrix) -> doc.Table:
    return doc.Table(
        "A case counts for the sampler at which it first differs; for all of its chain where none "
        "does, or none can be named. Own words: samplers that are not llama.cpp's, against a "
        "reference that has their meaning.",
        ["Engine", *(doc.Name(labels.spaced(sampler)) for sampler in matrix.samplers)],
        [
            [*_head(engine, len(matrix.samplers)), *_cells(engine, engine.samplers)]
            for engine in matrix.engines
            if engine.unavailable or any(cell.judged for cell in engine.samplers)
        ],
        style=FACETS,
    )


def _head(engine: EngineRow, columns: int) -> Iterator[doc.TableCell | doc.Inline]:
    name: doc.Inline = doc.Link(doc.Name(one_line(engine.name, 60)), f"#{engine.anchor}")
    version = doc.Toned(doc.Untrusted(one_line(engine.version, 60)), "quiet", small=True)
    yield (name, " ", version) if engine.version else name
    if engine.unavailable:
        text = ("did not run: ", doc.Untrusted(one_line(engine.unavailable, 200)))
        yield doc.TableCell(text, "quiet", "wide", span=columns)


def _cells(engine: EngineRow, cells: Sequence[MatrixCell]) -> list[doc.TableCell]:
    return [] if engine.unavailable else [_cell(cell) for cell in cells]


def _cell(cell: MatrixCell) -> doc.TableCell:
    text = _counts(labels.counted(cell), labels.differs(cell))
    return doc.judged(doc.Link(text, f"#{cell.anchor}") if cell.judged else text, labels.tone(cell))


def _counts(first: str, others: list[str]) -> doc.Inline:
    small = [doc.Toned(other, "", small=True) for other in others]
    return doc.Lines([first, *small], "behind")


def _law(engine: EngineRow) -> doc.TableCell:
    if engine.law is None:
        return doc.TableCell("", "quiet")
    law, place = engine.law, f"#{engine.law.anchor}" if engine.law.anchor else ""
    text = _counts(f"{law.equivalent:,}/{law.tests:,}", labels.others(law))
    return doc.judged(doc.Link(text, f"distribution.html{place}"), labels.tone_of_distribution(law))


def _engine(engine: EngineRow) -> doc.Fold:
    name = one_line(engine.name, 60)
    differing = labels.differing(engine)
    summary = f"{': ' * bool(engine.what)}{engine.what}{'; ' * bool(differing)}{differing}"
    blocks: list[doc.Block] = [doc.Heading(3, name, engine.anchor), *_meaning(engine)]
    if engine.unavailable:
        blocks.append(doc.Paragraph(f"Did not run: {one_line(engine.unavailable, 400)}"))
    else:
        facts = filter(
            None, (engine.version, engine.build, one_line(device_label(engine.device), 60))
        )
        blocks.append(doc.Paragraph(", ".join(facts), "quiet"))
        table = doc.Table(
            "The results, the differences, their reasons, and the replay commands.",
            "Property or sampler | Identical | What differs, why, and the replay",
            [_why(cell) for cell in engine.cells if cell.judged or cell.lacks],
            style="stacked",
        )
        blocks.append(table)
    return doc.Fold((doc.Strong(name), summary), blocks)


def _meaning(engine: EngineRow) -> list[doc.Block]:
    """Return where the page is about what an engine means by its parameters."""
    if not engine.page:
        return []
    return [doc.Paragraph(("Meaning of its parameters: ", doc.Code(engine.page)))]


def _why(cell: MatrixCell) -> doc.TableRow:
    blocks = [block for difference in cell.differences for block in _difference(cell, difference)]
    if not blocks:
        lacks = doc.Paragraph(cell.lacks, "quiet")
        blocks = [doc.Pre(cell.replay) if cell.judged else lacks]
    counted = doc.TableCell(labels.counted(cell), labels.tone(cell))
    why = doc.TableCell(blocks, kind="text")
    return doc.TableRow([labels.spaced(cell.column), counted, why], cell.anchor)


def _difference(cell: MatrixCell, d: CellDifference) -> Iterator[doc.Block]:
    verdict = f"{d.cases:,} {d.verdict}" if d.cases > 1 else d.verdict
    where = f" at {d.stage}" if d.stage and d.stage != cell.column else ""
    what = f": {d.description}" if d.description else ""
    state: tuple[doc.Inline, ...] = (" ", doc.Toned(doc.Strong(labels.state(d)), "bad"))
    yield doc.Paragraph((doc.Strong(verdict), where, what, *(state if labels.state(d) else ())))
    near, both = labels.near(d), one_line(labels.both(d), 220)
    detail = d.detail if both and d.detail != d.why else ""
    if values := "; ".join(filter(None, (both, detail, near))):
        yield doc.Paragraph(values)
    if d.why:
        yield doc.Paragraph(d.why, "quiet")
    yield doc.Pre(d.replay)
    if d.others:
        more = ", and more" if d.cases > len(d.others) + 1 else ""
        yield doc.Paragraph(f"also {', '.join(d.others)}{more}", "quiet")


def _brief(engine: EngineRow) -> Iterator[doc.Block]:
    told = [(cell, difference) for cell in engine.cells for difference in cell.differences]
    if told:
        yield doc.Heading(2, doc.Name(engine.name))
        yield from _meaning(engine)
        yield doc.Items([_brief_difference(*each) for each in told], most=MOST)


def _brief_difference(cell: MatrixCell, d: CellDifference) -> doc.Inline:
    parts: list[doc.Inline] = [
        (doc.Untrusted(cell.column, 60), f": {d.cases:,} {d.verdict}"),
        *(doc.Untrusted(text, 200) for text in (d.description, labels.both(d)) if text),
        *([labels.near(d)] if labels.near(d) else []),
        *([doc.Untrusted(d.why, 160)] if d.why else []),
        *([doc.Strong(labels.state(d))] if labels.state(d) else []),
        doc.Code(d.replay, 300),
    ]
    return (parts[0], *(piece for part in parts[1:] for piece in ("; ", part)))


def _asked(matrix: Matrix) -> Iterator[doc.Block]:
    yield doc.Heading(2, "What is asked", "asked")
    for p in matrix.properties:
        cases = doc.Items([(doc.Code(case), f": {text}") for case, text in p.cases.items()])
        changed = doc.Paragraph("Changed since: the suite of a bundle was another.", "quiet")
        name = doc.Strong(labels.spaced(p.name))
        yield doc.Fold((name, f": {p.title}"), [cases, *([changed] if p.changed else [])])


def _absent(matrix: Matrix) -> Iterator[doc.Block]:
    if not matrix.absent:
        return
    facts: list[tuple[doc.Inline, list[doc.Block]]] = []
    items: list[doc.Inline] = []
    for a in matrix.absent:
        needs = f"; needs {a.needs}" if a.needs else ""
        facts.append((a.name, [doc.Paragraph(f"{a.what}{needs}"), doc.Pre(a.command)]))
        items.append((doc.Name(a.name), needs, ": ", doc.Code(a.command, 300)))
    yield doc.Heading(2, "Not in these bundles", "absent")
    yield doc.InHtml([doc.Facts(facts)])
    yield doc.InMarkdown([doc.Items(items)])
