"""Parts of the parity page over all bundles: implementations, releases, hardware."""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.failures.format_difference import number
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import figure, lines_of, share_of
from sampler_parity.reports.pages.parity import model
from sampler_parity.reports.pages.parity.matrix_model import (
    MatrixCell,
    MatrixDifference,
    ParityMatrix,
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


def _implementation(c: MatrixCell) -> doc.TableCell:
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


def _brief(c: MatrixCell) -> doc.Inline:
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
    changed = doc.InHtml([doc.Heading(3, "What changed"), fold])
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


def _change(c: model.Change) -> doc.Item:
    since = f"; old up to {c.last_old}, new from {c.first_new}; {sum(c.cases.values()):,} cases)"
    samplers = doc.Untrusted(", ".join(c.samplers))
    head = (doc.Strong(doc.Untrusted(c.name)), " (", samplers, since)
    inner: list[doc.Inline] = [("old: ", doc.Untrusted(c.old)), ("new: ", doc.Untrusted(c.new))]
    return doc.Item(head, inner=[*inner, *([doc.Code(c.replay)] if c.replay else [])])


def _card(c: model.Change, name: str) -> doc.Card:
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


def _result(c: model.Change) -> str:
    result = c.result
    assert result is not None
    text = f"Against v0.5.0 on {c.backend}: {result.verdict}"
    text += f" at {result.stage}, step {(result.step or 0) + 1}" if result.stage else ""
    text += f", in {result.what}" if result.what else ""
    if "got" in result.values:
        got, expected = number(result.values["got"]), number(result.values["expected"])
        text += f": got {got}, expected {expected}"
    return f"{text}."


def hardware(devices: model.Devices) -> doc.Region:
    """Return the logits of hardware configurations, and where their texts part."""
    about = (
        "What every sampler does with the logits of each configuration is in the tables of the "
        "bundles, by backend."
    )
    head = "Backend | Bundle | Equal prompts | Largest difference | KL, largest | KL, mean"
    table = doc.Table(
        "Logits of the same prompts on each configuration, against the first of its bundle. Equal: "
        "prompts whose logits are all equal to the bit. KL: divergence from the first, in nats, of "
        "a position. Parted: texts that leave the first configuration's.",
        f"{head} | Same top-1 | Parted texts | First at token | Device",
        [_configuration(c) for c in devices.configurations],
        style="sticky",
    )
    heading = doc.Heading(2, "Hardware configurations", "devices")
    blocks: list[doc.Block] = [heading, doc.InHtml([doc.Paragraph(about)]), table]
    if devices.across:
        blocks += [doc.Heading(3, "Across bundles"), _across(devices.across)]
    if devices.parted:
        blocks += [doc.Heading(3, "Texts that part"), _parted(devices.parted)]
    else:
        blocks.append(doc.InHtml([doc.Heading(3, "Texts that part"), doc.Paragraph("None.")]))
    return doc.Region("devices", blocks)


def _configuration(c: model.Configuration) -> doc.Cells:
    first = [doc.Toned("the first", "quiet")] if c.backend == c.first else []
    names: doc.Cells = [
        doc.Lines([doc.Name(c.backend), *first]),
        doc.TableCell(doc.Name(c.bundle), kind="keep"),
    ]
    if c.unavailable:
        gone = ("does not run here: ", doc.Name(c.unavailable))
        return [*names, doc.TableCell(gone, kind="text", span=8)]
    equal: list[doc.Inline] = [share_of(c.equal, c.compared)]
    if c.compared < c.prompts:
        equal.append((f"{c.prompts - c.compared:,} without figures ", doc.Name(c.failed)))
    return [
        *names,
        doc.num(doc.Lines(equal)),
        *(doc.num(figure(value)) for value in (c.difference, c.kl_max, c.kl_mean)),
        *(doc.num(share_of(*pair)) for pair in ((c.top1, c.rows), (c.parted, c.texts))),
        doc.num("none" if c.earliest is None else f"{c.earliest + 1}"),
        doc.TableCell((doc.Name(c.device), ", on ", doc.Name(c.machine)), kind="wide"),
    ]


def _across(rows: Sequence[model.Across]) -> doc.Table:
    cells: doc.Rows = [
        [
            doc.Name(a.backend),
            doc.TableCell(doc.Name(a.bundle), kind="keep"),
            *(doc.num(share_of(n, a.prompts)) for n in (a.equal, a.kept)),
            *(doc.num(figure(value)) for value in (a.difference, a.kl_max)),
            doc.num(share_of(a.top1, a.kept)),
        ]
        for a in rows
    ]
    head = "Backend | Bundle | Equal prompts | Rows kept | Largest difference | KL, largest"
    return doc.Table(
        f"Configurations of the other bundles compared with {rows[0].base}, on the prompts and "
        "model that both have. Equal: by digest of all logits. The figures are of the rows that "
        "both bundles keep, the logits after the whole prompt.",
        f"{head} | Same top-1",
        cells,
    )


def _parted(rows: Sequence[model.PartedText]) -> doc.Table:
    cells: doc.Rows = []
    for p in rows:
        numbers = [f"{n:,}" for n in (p.step + 1, p.token, p.first_token)]
        numbers += [figure(p.margin), figure(p.difference)]
        verdicts = doc.TableCell(f"{p.verdict}, the first {p.first_verdict}", kind="keep")
        names = [doc.Name(p.case), doc.Name(p.backend)]
        cells.append([*names, *map(doc.num, numbers), verdicts, doc.Code(p.replay)])
    return doc.Table(
        "Where texts part. Margin: by how much the logits of the first prefer its own token. "
        "Difference: the largest of two logits at that token. Verdicts: each text against the "
        "reference on its own logits.",
        "Case | Backend | At token | Drawn | By the first | Margin | Difference | Verdicts | "
        "Replay",
        cells,
        most=20,
        what="texts part",
    )
