"""The parity matrix, sampler x implementation, over all bundles of a report: its model and its part
of the page.

It holds only results that are judged by the newest release; the table of drift compares a build
with its own release. If only builds of llama.cpp ran, there is no matrix; next to another
implementation they are in it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from sampler_parity.harness.backends.engines import ENGINES, without_build
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.failures.explanations import Key, all_explanations
from sampler_parity.harness.failures.groups import counts_for
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import ORDER, Verdict, worst
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reports import document as doc
from sampler_parity.reports.parts import folded, of_llama_cpp, place, reason, state


class MatrixDifference(Strict):
    """Cases of a cell with the same verdict and first differing stage ("" if none is named).

    why: from suites/explanations.toml, or the backend's reason for refusing; "": not explained.
    """

    stage: str
    verdict: Verdict
    cases: int
    why: str


class ParityMatrixCell(Strict):
    """Cases with the sampler in their chain that are identical, or first differ at it. verdict: the
    worst; None without a case."""

    cases: int
    identical: int
    verdict: Verdict | None
    differences: list[MatrixDifference]


class ParityMatrixRow(Strict):
    """cells: in the order of the matrix's backends."""

    sampler: str
    cells: list[ParityMatrixCell]


class ParityMatrix(Strict):
    """unexplained: results without an explanation on a backend that this project brings."""

    backends: list[str]
    rows: list[ParityMatrixRow]
    unexplained: int


Judgement = tuple[Verdict, str, str]  # verdict, stage, and why it is not identical


JudgementsBySampler = dict[str, Counter[Judgement]]  # by sampler; "" for all of them


def matrix(bundles: list[Bundle], explained: dict[Key, str] | None = None) -> ParityMatrix | None:
    """Return None where nothing but llama.cpp ran. explained: that of suites/explanations.toml.
    Raises InputError for a bad file of explanations."""
    newest = {name for bundle in bundles for name in _newest(bundle)}
    if all(map(of_llama_cpp, newest)):
        return None
    if explained is None:
        explained = all_explanations()
    tallies, tried = _tallies(bundles, explained)
    if all(map(of_llama_cpp, tallies)):
        return None
    names = sorted(tallies, key=place)
    samplers = [s for s in ALL_SAMPLERS if s in tried] + sorted(tried - ALL_SAMPLERS.keys())
    rows = [
        ParityMatrixRow(
            sampler=visible(sampler), cells=[_cell(tallies[name][sampler]) for name in names]
        )
        for sampler in samplers
    ]
    return ParityMatrix(
        backends=[visible(name) for name in names],
        rows=rows,
        unexplained=sum(_unexplained(name, tallies[name][""]) for name in names),
    )


def _newest(bundle: Bundle) -> list[str]:
    """Return the backends that are judged by the newest release."""
    return [name for name, about in bundle.info.backends.items() if about.reference == NEWEST]


def _tallies(
    bundles: list[Bundle], explained: dict[Key, str]
) -> tuple[dict[str, JudgementsBySampler], set[str]]:
    """Count the results by backend, and name the samplers of their cases. The cases are visited
    once and not kept: a million may have as many chains."""
    tallies: dict[str, JudgementsBySampler] = defaultdict(lambda: defaultdict(Counter))
    tried: set[str] = set()
    for bundle in bundles:
        newest = _newest(bundle)
        for case, n in bundle.cases.alike():
            for name in newest:
                if (result := case.backends.get(name)) is None:
                    continue
                same = result.verdict == "identical"
                why = "" if same else reason(name, result, explained)
                judgement = result.verdict, result.stage, why
                tried.update(case.samplers)
                for sampler in {*counts_for(case, name), ""}:
                    tallies[name][sampler][judgement] += n
    return tallies, tried


def _cell(of_all: Counter[Judgement]) -> ParityMatrixCell:
    # what was judged; where nothing was, what was skipped
    judged = (
        Counter({judgement: n for judgement, n in of_all.items() if judgement[0] != "skipped"})
        or of_all
    )
    return ParityMatrixCell(
        cases=judged.total(),
        identical=sum(n for (verdict, _, _), n in judged.items() if verdict == "identical"),
        verdict=worst([verdict for verdict, _, _ in judged]) if judged else None,
        differences=list(_differences(judged)),
    )


def _differences(judgements: Counter[Judgement]) -> Iterator[MatrixDifference]:
    """Yield the worst verdict first; of one verdict, the most frequent stage first."""
    groups: dict[tuple[Verdict, str], Counter[str]] = defaultdict(Counter)
    for (verdict, stage, why), n in judgements.items():
        if verdict != "identical":
            groups[verdict, stage][why] += n
    ranked = sorted(groups.items(), key=lambda item: (-ORDER.index(item[0][0]), -item[1].total()))
    for (verdict, stage), whys in ranked:
        yield MatrixDifference(
            stage=visible(stage),
            verdict=verdict,
            cases=whys.total(),
            # one that is not explained must be seen, however many are
            why="" if "" in whys else visible(one_line(whys.most_common(1)[0][0], 160)),
        )


def _unexplained(name: str, judgements: Counter[Judgement]) -> int:
    """Count for a backend of this project; other authors explain their own."""
    if without_build(name) not in ENGINES:
        return 0
    return sum(
        n for (verdict, _, why), n in judgements.items() if verdict != "identical" and not why
    )


def implementations(matrix: ParityMatrix) -> doc.Region:
    """Return samplers by implementation; in Markdown each explanation stands once."""
    heading = doc.Heading(2, "Samplers by implementation", "matrix")
    text = f"{matrix.unexplained:,} results are not explained"
    blocks: list[doc.Block] = [
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
        [[doc.Name(row.sampler), *map(_brief_cell, row.cells)] for row in matrix.rows],
    )
    whys = doc.Items([*dict.fromkeys(_explanations(matrix))], most=200)
    rows = len(matrix.rows)
    return doc.Region(
        "matrix",
        [
            heading,
            *(blocks if matrix.unexplained else []),
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


def _brief_cell(c: ParityMatrixCell) -> doc.Inline:
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
