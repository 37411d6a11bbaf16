"""Drift across releases: builds that were judged by their own release, as a table, and the changes
between the releases.
"""

from collections import Counter
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, ChangeResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.failures.format_difference import number
from sampler_parity.harness.sanitize.printable import escaped, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.reference.chronology import NEWEST, order, parted
from sampler_parity.reference.releases import CHANGES, between
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import lines_of
from sampler_parity.reports.parts import folded


class DriftColumn(Strict):
    """A build that was judged by its own release, in the bundle that holds it."""

    bundle: str
    backend: str
    release: str


class DriftCell(Strict):
    """A sampler on a build. identical: to the reference of its release. lacking: the build has not
    got a sampler of the case. unknown: nobody knows how one is called or what it meant there.
    undefined: in that release, not asked. changed: not identical to v0.5.0's meaning of this
    sampler. changes: how many cases need each old meaning of it. by_neighbours: nobody saw when a
    meaning changed near the release, which is judged by those seen on both sides."""

    cases: int
    identical: int
    lacking: int
    unknown: int
    undefined: int
    changed: int
    changes: dict[str, int]
    by_neighbours: bool = False

    @property
    def unexplained(self) -> int:
        return self.cases - self.identical - self.lacking - self.unknown - self.undefined


class DriftRow(Strict):
    sampler: str
    cells: list[DriftCell]
    verdict: str


class MeaningChange(Strict):
    """A change of meaning between two releases. cases: by backend, how many need the old one.
    result: how the backend differs from v0.5.0's meaning on the counterexample."""

    name: str
    samplers: list[str]
    last_old: str
    first_new: str
    old: str
    new: str
    cases: dict[str, int]
    backend: str
    case: str
    counterexample: dict[str, Any] | None
    result: BackendResult | None
    replay: str


class Drift(Strict):
    """cells of a row: in the order of the columns, which are in the order of the releases."""

    columns: list[DriftColumn]
    rows: list[DriftRow]
    changes: list[MeaningChange]


Counted = list[tuple[CaseResult, int]]  # cases, each for so many that are alike


def drift(bundles: list[Bundle], names: list[str]) -> Drift | None:
    """Return every build of llama.cpp in these bundles; None if an old release judged none.

    names: of the bundles, fit to be shown.
    """
    parts = [
        (bundle_name, bundle, name)
        for bundle, bundle_name in zip(bundles, names, strict=True)
        for name in bundle.info.backends
        if _is_release(bundle.info, name)
    ]
    if all(bundle.info.backends[name].reference == NEWEST for _, bundle, name in parts):
        return None
    parts.sort(key=lambda part: order(parted(part[1].info.backends[part[2]].reference)[0]))
    columns = [
        DriftColumn(
            bundle=bundle_name, backend=visible(name), release=bundle.info.backends[name].reference
        )
        for bundle_name, bundle, name in parts
    ]
    cases = [([*bundle.cases.alike()], name) for _, bundle, name in parts]
    samplers = sorted({s for results, _ in cases for case, _ in results for s in case.samplers})
    changes = [_change(bundle, change) for bundle in bundles for change in bundle.of(ChangeResult)]
    rows = [_row(visible(sampler), sampler, cases, columns) for sampler in samplers]
    return Drift(columns=columns, rows=rows, changes=changes)


def _is_release(info: RunInfo, name: str) -> bool:
    built = name == "llama.cpp" or name.startswith(("llama.cpp@", "reference@"))
    return built or info.backends[name].reference != NEWEST


def _row(
    label: str, sampler: str, cases: list[tuple[Counted, str]], columns: list[DriftColumn]
) -> DriftRow:
    cells = [
        _cell(sampler, results, name, parted(column.release)[0])
        for (results, name), column in zip(cases, columns, strict=True)
    ]
    return DriftRow(sampler=label, cells=cells, verdict=_verdict(cells, columns))


def _cell(sampler: str, results: Counted, backend: str, release: str) -> DriftCell:
    """Return the cases of a sampler on a build. changes: how many need each of its old meanings."""
    of_sampler = [
        (case, n) for case, n in results if sampler in case.samplers and backend in case.backends
    ]
    names = {change.name for change in CHANGES if sampler in change.samplers}
    changes: Counter[str] = Counter()
    changed = identical = lacking = unknown = undefined = 0
    for case, n in of_sampler:
        result = case.backends[backend]
        identical += n * (result.verdict == "identical")
        required = "unsupported" in case.required[backend]
        lacking += n * (result.verdict == "unsupported" and required)
        unknown += n * (result.verdict == "unsupported" and not required)
        undefined += n * (result.verdict == "rejected" and case.met(backend))
        needed = names.intersection(result.changes or [])
        changed += n * bool(needed)
        changes.update(dict.fromkeys(needed, n))
    return DriftCell(
        cases=sum(n for _, n in of_sampler),
        identical=identical,
        lacking=lacking,
        unknown=unknown,
        undefined=undefined,
        changed=changed,
        changes=dict(sorted(changes.items())),
        by_neighbours=bool(identical and between(release, [sampler])),
    )


def _verdict(cells: list[DriftCell], columns: list[DriftColumn]) -> str:
    """Return the verdict in words, from the columns in order of their releases."""
    has = [
        (cell, column.release)
        for cell, column in zip(cells, columns, strict=True)
        if cell.cases > cell.lacking
    ]
    if not has:
        return "in none of these releases"
    if bad := [release for cell, release in has if cell.unexplained]:
        return f"not explained in {', '.join(dict.fromkeys(bad))}"
    old = [release for cell, release in has if cell.changed]
    parts = []
    if columns[-1].release != has[-1][1]:
        parts.append(f"removed after {has[-1][1]}")
    if columns[0].release != has[0][1]:
        parts.append(f"new in {has[0][1]}")
    if unknown := [release for cell, release in has if cell.unknown]:
        parts.append(f"not known in {', '.join(dict.fromkeys(unknown))}")
    if beside := [release for cell, release in has if cell.by_neighbours]:
        parts.append(f"judged by its neighbours in {', '.join(dict.fromkeys(beside))}")
    same = "the same meaning in all" + " that were judged" * bool(unknown)
    parts.append(f"another meaning up to {old[-1]}" if old else same)
    return ", ".join(parts)


def _change(bundle: Bundle, change: ChangeResult) -> MeaningChange:
    command = ""
    if change.case:
        backend = bundle.info.backends[change.backend].model_copy(update={"reference": NEWEST})
        info = bundle.info.model_copy(update={"backends": {change.backend: backend}})
        command = replay(info, change.suite, change.case, [change.backend])
    shown = escaped(change)
    return MeaningChange(
        name=shown.id.removeprefix("change/"),
        samplers=shown.samplers,
        last_old=shown.last_old,
        first_new=shown.first_new,
        old=shown.old,
        new=shown.new,
        cases=shown.cases,
        backend=shown.backend,
        case=shown.case,
        counterexample=shown.counterexample,
        result=shown.result,
        replay=command,
    )


def releases(drift: Drift) -> doc.Region:
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
                *map(_drift_cell, row.cells),
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
    items = doc.InMarkdown([doc.Items([_change_item(c) for c in drift.changes], most=80)])
    return doc.Region("drift", [*blocks, *([changed, items] if drift.changes else [])])


def _drift_cell(c: DriftCell) -> doc.TableCell:
    tested = c.cases - c.lacking
    if not tested:
        return doc.TableCell("not in it" if c.cases else "no case", "quiet")
    if c.unexplained:
        return doc.judged(f"{c.unexplained:,}/{tested:,} not explained", "bad")
    if c.unknown:
        return doc.TableCell(f"{c.unknown:,}/{tested:,} not known", "quiet")
    same = f"{c.identical:,} as v0.5.0"
    lines = [f"{c.changed:,}/{c.identical:,} other" if c.changed else same]
    lines += ["by its neighbours"] * c.by_neighbours
    lines += [f"{c.undefined:,} undefined"] if c.undefined else []
    return doc.TableCell(doc.Lines(lines, "whole"), "fair" if c.changed or c.undefined else "good")


def _change_item(c: MeaningChange) -> doc.Item:
    since = f"; old up to {c.last_old}, new from {c.first_new}; {sum(c.cases.values()):,} cases)"
    samplers = doc.Untrusted(", ".join(c.samplers))
    head = (doc.Strong(doc.Untrusted(c.name)), " (", samplers, since)
    inner: list[doc.Inline] = [("old: ", doc.Untrusted(c.old)), ("new: ", doc.Untrusted(c.new))]
    return doc.Item(head, inner=[*inner, *([doc.Code(c.replay)] if c.replay else [])])


def _card(c: MeaningChange, name: str) -> doc.Card:
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


def _result(c: MeaningChange) -> str:
    result = c.result
    assert result is not None
    text = f"Against v0.5.0 on {c.backend}: {result.verdict}"
    text += f" at {result.stage}, step {(result.step or 0) + 1}" if result.stage else ""
    text += f", in {result.what}" if result.what else ""
    if "got" in result.values:
        got, expected = number(result.values["got"]), number(result.values["expected"])
        text += f": got {got}, expected {expected}"
    return f"{text}."
