"""Show each engine by property and by sampler: two tables, then a part for each engine."""

from collections.abc import Iterator, Sequence
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.failures.format_difference import number
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import device_label, several, state_of
from sampler_parity.reports.page import Page, PageSummary
from sampler_parity.reports.pages.matrix.matrix_build import matrix_of
from sampler_parity.reports.pages.matrix.matrix_model import (
    CellDifference,
    DrawTally,
    EngineRow,
    Matrix,
    MatrixCell,
)
from sampler_parity.reports.parts import state

REFERENCE = "reference"  # what the engines are compared with, and none of them
_HEADS = {
    "top_k_zero": "top-k 0",
    "top_p_one": "top-p 1",
    "temp_zero": "temp 0",
    "batch_rows": "batch",
}
FACETS = "sortable facets compact sticky stacked"
MOST = 200  # differences of an engine in Markdown
INTRO = (
    "Each engine against llama.cpp v0.5.0: first the questions to all, whatever their "
    "arithmetic and random numbers; then sampler by sampler, to the bit. Each cell leads to its "
    "cases, to why they differ and to the command that replays them."
)


def counts_of(cell: MatrixCell) -> str:
    """Return identical of judged: "7/9"; "lacks" where the engine claims nothing of it."""
    if cell.judged:
        return f"{cell.identical:,}/{cell.judged:,}"
    return "lacks" if cell.lacks else ""


def others_of(cell: MatrixCell) -> list[str]:
    """Return, of what differs, how many by verdict, the worst first: ["2 tied", "1 rejected"]."""
    by_verdict: dict[str, int] = {}
    for difference in cell.differences:
        if difference.verdict != "identical":
            verdict = difference.verdict
            by_verdict[verdict] = by_verdict.get(verdict, 0) + difference.cases
    return [f"{n:,} {verdict}" for verdict, n in by_verdict.items()]


def tone_of(cell: MatrixCell) -> Tone:
    """Return the colour of a cell, which repeats the meaning of its words."""
    if not cell.judged:
        return "quiet"
    if cell.met < cell.judged or cell.unexplained:
        return "bad"
    return "good" if cell.identical == cell.judged else "fair"


def tone_of_distribution(law: DrawTally) -> Tone:
    """Return the colour of an engine's draws."""
    if law.met < law.tests:
        return "bad"
    return "good" if law.equivalent == law.tests else "fair"


def distance(difference: CellDifference) -> str:
    """Return how near it is: of a boundary to the cut, of what is close to the value."""
    if difference.margin is None:
        return ""
    if difference.verdict == "boundary":
        return f"{difference.margin:.1g} of the cut" if difference.margin else "exactly at the cut"
    return f"off by {difference.margin:.1g}"


def both_sides(difference: CellDifference) -> str:
    """Return what was got and what was expected: "drawn 1, 2, 3, 4; expected 1, 2"."""
    if difference.got is None and difference.expected is None:
        return ""
    what = "got" if difference.what in ("", "value") else difference.what
    return f"{what} {_value(difference.got)}; expected {_value(difference.expected)}"


def complaint(difference: CellDifference) -> str:
    """Return what is wrong with it for the maintainers of the engine; or ''."""
    if not difference.required:
        return "not as required"
    return "" if difference.why else "not explained"


def headlines(matrix: Matrix) -> list[str]:
    """Return what the matrix comes to, a line each."""
    engines = [engine for engine in matrix.engines if engine.name != REFERENCE]
    ran = [engine for engine in engines if not engine.unavailable]
    complete = sum(engine.judged > 0 and engine.identical == engine.judged for engine in ran)
    judged = sum(engine.judged > 0 for engine in ran)
    lines = [
        f"{several(len(ran), 'engine')} ran; {complete:,}/{judged:,} have every property asked"
    ]
    if len(ran) < len(engines):
        lines.append(f"{len(engines) - len(ran):,} did not run here")
    if matrix.unexplained:
        lines.append(f"not explained: {several(matrix.unexplained, 'result')}")
    if matrix.failing:
        lines.append(f"not as required: {several(matrix.failing, 'result')}")
    return lines


def head_of(name: str) -> str:
    """Return the head of a column, which may break between its words."""
    return _HEADS.get(name, name.replace("_", " "))


def differing_at(engine: EngineRow) -> str:
    """Return the properties at which an engine is not llama.cpp's: "differs at ties, temp 0"."""
    columns = [head_of(c.column) for c in engine.properties if c.judged > c.identical]
    if columns:
        return f"differs at {', '.join(columns)}"
    return "has every property asked" if engine.judged else ""


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(number, value)) or "none"
    return number(value)


def document(matrix: Matrix) -> doc.Document:
    """Return the page of a matrix."""
    lines = headlines(matrix)
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
        ["Engine", *(head_of(p.name) for p in matrix.properties), *["draws"] * drawn],
        rows,
        style=FACETS,
    )


def _samplers(matrix: Matrix) -> doc.Table:
    return doc.Table(
        "A case counts for the sampler at which it first differs; for all of its chain where none "
        "does, or none can be named. Own words: samplers that are not llama.cpp's, against a "
        "reference that has their meaning.",
        ["Engine", *(doc.Name(head_of(sampler)) for sampler in matrix.samplers)],
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
    text = _counts(counts_of(cell), others_of(cell))
    return doc.judged(doc.Link(text, f"#{cell.anchor}") if cell.judged else text, tone_of(cell))


def _counts(first: str, details: list[str]) -> doc.Inline:
    small = [doc.Toned(detail, "", small=True) for detail in details]
    return doc.Lines([first, *small], "behind")


def _law(engine: EngineRow) -> doc.TableCell:
    if engine.law is None:
        return doc.TableCell("", "quiet")
    law, fragment = engine.law, f"#{engine.law.anchor}" if engine.law.anchor else ""
    others = [f"{n:,} {decision}" for decision, n in law.others.items()]
    text = _counts(f"{law.equivalent:,}/{law.tests:,}", others)
    return doc.judged(doc.Link(text, f"distribution.html{fragment}"), tone_of_distribution(law))


def _engine(engine: EngineRow) -> doc.Fold:
    name = one_line(engine.name, 60)
    differing = differing_at(engine)
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
    counted = doc.TableCell(counts_of(cell), tone_of(cell))
    why = doc.TableCell(blocks, kind="text")
    return doc.TableRow([head_of(cell.column), counted, why], cell.anchor)


def _difference(cell: MatrixCell, d: CellDifference) -> Iterator[doc.Block]:
    verdict = f"{d.cases:,} {d.verdict}" if d.cases > 1 else d.verdict
    where = f" at {d.stage}" if d.stage and d.stage != cell.column else ""
    what = f": {d.description}" if d.description else ""
    state: tuple[doc.Inline, ...] = (" ", doc.Toned(doc.Strong(complaint(d)), "bad"))
    yield doc.Paragraph((doc.Strong(verdict), where, what, *(state if complaint(d) else ())))
    margin, both = distance(d), one_line(both_sides(d), 220)
    detail = d.detail if both and d.detail != d.why else ""
    if values := "; ".join(filter(None, (both, detail, margin))):
        yield doc.Paragraph(values)
    if d.why:
        yield doc.Paragraph(d.why, "quiet")
    yield doc.Pre(d.replay)
    if d.others:
        more = ", and more" if d.cases > len(d.others) + 1 else ""
        yield doc.Paragraph(f"also {', '.join(d.others)}{more}", "quiet")


def _brief(engine: EngineRow) -> Iterator[doc.Block]:
    pairs = [(cell, difference) for cell in engine.cells for difference in cell.differences]
    if pairs:
        yield doc.Heading(2, doc.Name(engine.name))
        yield from _meaning(engine)
        yield doc.Items([_brief_difference(*pair) for pair in pairs], most=MOST)


def _brief_difference(cell: MatrixCell, d: CellDifference) -> doc.Inline:
    parts: list[doc.Inline] = [
        (doc.Untrusted(cell.column, 60), f": {d.cases:,} {d.verdict}"),
        *(doc.Untrusted(text, 200) for text in (d.description, both_sides(d)) if text),
        *([distance(d)] if distance(d) else []),
        *([doc.Untrusted(d.why, 160)] if d.why else []),
        *([doc.Strong(complaint(d))] if complaint(d) else []),
        doc.Code(d.replay, 300),
    ]
    return (parts[0], *(piece for part in parts[1:] for piece in ("; ", part)))


def _asked(matrix: Matrix) -> Iterator[doc.Block]:
    yield doc.Heading(2, "What is asked", "asked")
    for p in matrix.properties:
        cases = doc.Items([(doc.Code(case), f": {text}") for case, text in p.cases.items()])
        changed = doc.Paragraph("Changed since: the suite of a bundle was another.", "quiet")
        name = doc.Strong(head_of(p.name))
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


MATRIX = Page[list[Bundle], Matrix](
    stem="matrix",
    title="Engines",
    answers="What does each engine do, property by property and sampler by sampler?",
    model=Matrix,
    build=matrix_of,
    document=document,
    summary=lambda matrix: PageSummary(matrix.ok, headlines(matrix)),
    missed=False,
)
