"""Parts of the parity page over all bundles: implementations and releases."""

from collections.abc import Iterator

from sampler_parity.harness.failures.format_difference import number
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import lines_of
from sampler_parity.reports.pages.parity import model
from sampler_parity.reports.pages.parity.matrix_model import (
    MatrixDifference,
    ParityMatrix,
    ParityMatrixCell,
)
from sampler_parity.reports.parts import folded, state


def implementations(matrix: ParityMatrix) -> doc.Region:
    """Return samplers by implementation; in Markdown each explanation stands once."""
    heading = doc.Heading(2, "Samplers by implementation", "matrix")
    text = f"{matrix.unexplained:,} results are not explained"
    shown: list[doc.Block] = [
        doc.InHtml([state(False, f"{text} in suites/explanations.toml.")]),
        doc.InMarkdown([doc.Paragraph(doc.Strong(f"FAILED: {text}."))]),
    ]
    table = doc.Table(
        "All bundles, against the reference of llama.cpp v0.5.0. A case counts for the sampler at "
        "which it first differs; for all of its chain where none does, or none can be named.",
        ["Sampler", *map(doc.Name, matrix.backends)],
        [[row.sampler, *map(_implementation, row.cells)] for row in matrix.rows],
        style="sticky",
    )
    brief = doc.Table(
        "",
        ["Sampler", *map(doc.Name, matrix.backends)],
        [[doc.Name(row.sampler), *map(_brief, row.cells)] for row in matrix.rows],
    )
    whys = doc.Items([*dict.fromkeys(_explanations(matrix))], most=200)
    rows = len(matrix.rows)
    return doc.Region(
        "matrix",
        [
            heading,
            *(shown if matrix.unexplained else []),
            folded(rows, "sampler", 12, [table], markdown=False),
            doc.InMarkdown([brief, *([whys] if whys.items else [])]),
        ],
    )


def _implementation(c: ParityMatrixCell) -> doc.TableCell:
    if not c.cases:
        return doc.TableCell("no case", "quiet")
    counted = f"{c.identical:,}/{c.cases:,} identical"
    if c.verdict == "identical":
        return doc.TableCell(doc.Lines([counted], "whole"), "good")
    alone = c.verdict == "unsupported" and len(c.differences) == 1
    explained = all(d.why for d in c.differences)
    tone: doc.Tone = "bad" if not explained else "quiet" if alone else "fair"
    blocks: list[doc.Block] = [doc.Paragraph(counted)]
    for d in c.differences:
        why = d.why or doc.Strong("not explained")
        blocks.append(doc.Paragraph((f"{d.cases:,} {d.verdict}{_at(d)}: ", why)))
    return doc.TableCell(blocks, tone, "wide")


def _at(d: MatrixDifference) -> str:
    return f" at {d.stage}" if d.stage else ""


def _brief(c: ParityMatrixCell) -> doc.Inline:
    if not c.cases:
        return "no case"
    differences = [
        (f"{d.cases:,} {d.verdict}", *((" at ", doc.Untrusted(d.stage)) if d.stage else ()))
        for d in c.differences
    ]
    return doc.Lines([f"{c.identical:,}/{c.cases:,} identical", *differences])


def _explanations(matrix: ParityMatrix) -> Iterator[doc.Inline]:
    for i, name in enumerate(matrix.backends):
        for d in [d for row in matrix.rows for d in row.cells[i].differences]:
            at = (" at ", doc.Name(d.stage)) if d.stage else ()
            why = doc.Untrusted(d.why) if d.why else doc.Strong("not explained")
            yield (doc.Name(name), *at, f", {d.verdict}: ", why)


def releases(drift: model.Drift) -> doc.Region:
    """Return how each build keeps to its own release, and what changed."""
    about = (
        "Each build was judged by what its own release of llama.cpp meant, and then by how much of "
        "that v0.5.0 still means."
    )
    table = doc.Table(
        "Cases by release. other: the release meant something else, and the reference of that "
        "release is identical to it to the bit; undefined: reads what is not there, so it was not "
        "asked; which old meanings these cases need is listed below.",
        [
            *("Sampler", "In words"),
            *(
                doc.Lines([doc.Untrusted(c.release), doc.Toned(doc.Name(c.backend), "quiet")])
                for c in drift.columns
            ),
        ],
        [
            [
                doc.Name(row.sampler),
                doc.TableCell(row.verdict, kind="text"),
                *map(_drift, row.cells),
            ]
            for row in drift.rows
        ],
        style="sticky",
    )
    cards = [_card(change, f"drift-c{i}") for i, change in enumerate(drift.changes, 1)]
    heading = doc.Heading(2, "Drift across releases", "drift")
    blocks = [heading, doc.InHtml([doc.Paragraph(about)]), table]
    fold = folded(len(cards), "change", 5, cards, markdown=False)
    changed = doc.InHtml([doc.Heading(3, "Changes"), fold])
    items = doc.InMarkdown([doc.Items([_change(c) for c in drift.changes], most=80)])
    return doc.Region("drift", [*blocks, *([changed, items] if drift.changes else [])])


def _drift(c: model.DriftCell) -> doc.TableCell:
    asked = c.cases - c.lacking
    if not asked:
        return doc.TableCell("not in it" if c.cases else "no case", "quiet")
    if c.unexplained:
        return doc.judged(f"{c.unexplained:,}/{asked:,} not explained", "bad")
    if c.unknown:
        return doc.TableCell(f"{c.unknown:,}/{asked:,} not known", "quiet")
    same = f"{c.identical:,} as v0.5.0"
    lines = [f"{c.changed:,}/{c.identical:,} other" if c.changed else same]
    lines += ["by its neighbours"] * c.by_neighbours
    lines += [f"{c.undefined:,} undefined"] if c.undefined else []
    return doc.TableCell(doc.Lines(lines, "whole"), "fair" if c.changed or c.undefined else "good")


def _change(c: model.MeaningChange) -> doc.Item:
    since = f"; old up to {c.last_old}, new from {c.first_new}; {sum(c.cases.values()):,} cases)"
    samplers = doc.Untrusted(", ".join(c.samplers))
    head = (doc.Strong(doc.Untrusted(c.name)), " (", samplers, since)
    inner: list[doc.Inline] = [("old: ", doc.Untrusted(c.old)), ("new: ", doc.Untrusted(c.new))]
    return doc.Item(head, inner=[*inner, *([doc.Code(c.replay)] if c.replay else [])])


def _card(c: model.MeaningChange, name: str) -> doc.Card:
    cases = ", ".join(f"{n:,} on {backend}" for backend, n in c.cases.items())
    none = doc.Paragraph(doc.Strong("No case of this run shows it."))
    since = f"{', '.join(c.samplers)}; old up to {c.last_old}, new from {c.first_new}."
    blocks: list[doc.Block] = [
        *(doc.Paragraph(since), doc.Paragraph(f"Old: {c.old}"), doc.Paragraph(f"New: {c.new}")),
        doc.Paragraph(f"Cases that need the old meaning: {cases}.") if cases else none,
        *([doc.Paragraph(_result(c))] if c.result else []),
    ]
    if c.counterexample:
        lines = doc.Pre(lines_of(c.counterexample))
        blocks.append(doc.Fold("Smallest input found that shows it", [lines]))
    blocks += [doc.Paragraph("Replay:"), doc.Pre(c.replay)] if c.replay else []
    return doc.Card(c.name, name, blocks, note=True)


def _result(c: model.MeaningChange) -> str:
    result = c.result
    assert result is not None
    text = f"Against v0.5.0 on {c.backend}: {result.verdict}"
    text += f" at {result.stage}, step {(result.step or 0) + 1}" if result.stage else ""
    text += f", in {result.what}" if result.what else ""
    if "got" in result.values:
        got, expected = number(result.values["got"]), number(result.values["expected"])
        text += f": got {got}, expected {expected}"
    return f"{text}."
