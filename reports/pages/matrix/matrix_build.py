"""From bundles to the matrix: every engine of all of them, at every property and every sampler.

Only what is judged by the newest release stands here; the table of drift is about the others. A
result counts for its property, or for the sampler at which it first differs; those that an engine
has under names of its own have one column together.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.backends.engines import ENGINES, without_build
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.replay import command, replay
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import (
    CellOnBackend,
    Decision,
    DistributionResult,
)
from sampler_parity.harness.failures.explanations import Key, all_explanations
from sampler_parity.harness.failures.groups import counts_for
from sampler_parity.harness.processes import shell
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.suite.file import expand, read_suite
from sampler_parity.harness.suite.ids import shipped
from sampler_parity.harness.verdicts import ORDER, worst
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.registry import ROWS
from sampler_parity.reports.page import anchor
from sampler_parity.reports.pages.matrix.matrix_model import (
    Absent,
    CellDifference,
    DrawTally,
    EngineRow,
    Matrix,
    MatrixCell,
    Property,
)
from sampler_parity.reports.parts import of_llama_cpp, place, reason

FOLDER = "properties"  # of suites/
# As they are read; the others follow by name.
_ORDER = (
    *("order", "ties", "top_k_zero", "top_p_one", "temp_zero", "off", "min_keep", "ignored"),
    *("masked", "seed", "batch_rows"),
)
MORE_IDS = 12  # ids of cases after the first
LONGEST = 160  # characters of a reply of an engine
OWN_WORDS = (
    "own words"  # samplers that are not llama.cpp's, against their pipeline of the reference
)
_OF_OTHERS = {row.name for row in ENGINES.values() if row.in_make_engines}


def asked_of(bundles: Sequence[Bundle], names: Collection[str]) -> list[Property]:
    """Return the properties in a fixed order, in the words of the suites here."""
    ordered = [name for name in _ORDER if name in names]
    return [
        _property_asked(bundles, name) for name in [*ordered, *sorted(set(names) - set(ordered))]
    ]


def _property_asked(bundles: Sequence[Bundle], name: str) -> Property:
    suite = f"{FOLDER}/{name}"
    digests = {bundle.info.suites.get(suite) for bundle in bundles} - {None}
    path = shipped().get(suite)
    if path is None:
        return Property(name=name, title=name.replace("_", " "), changed=True, cases={})
    file = read_suite(path)
    cases = {case.id: case.description for case in expand(file, "full")}
    return Property(name=name, title=file.suite.name, changed=digests != {file.sha256}, cases=cases)


# Whether it is as required, whether it is equivalent, what is decided, the test, its place.
Row = tuple[bool, bool, Decision, CellOnBackend, str]


def distributions_of(bundles: Sequence[Bundle]) -> dict[str, DrawTally]:
    """Return them by engine; each run is decided by itself, as the distribution page does."""
    tested = [bundle for bundle in bundles if bundle.of(DistributionResult)]
    rows: dict[str, list[Row]] = defaultdict(list)
    for i, bundle in enumerate(tested):
        decided = decisions(bundle.of(DistributionResult))
        for cell in bundle.of(DistributionResult):
            for name, result in cell.backends.items():
                decision, _ = decided[cell.id, name]
                if decision == "skipped":
                    continue
                at = anchor(cell.id, name, of=i, among=len(tested))
                met = decision in cell.required[name]
                rows[name].append((met, decision == "equivalent", decision, result, at))
    return {name: _law(of_engine) for name, of_engine in rows.items()}


def _law(rows: list[Row]) -> DrawTally:
    worst = min(rows, key=lambda row: row[:2])
    return DrawTally(
        tests=len(rows),
        equivalent=sum(row[1] for row in rows),
        met=sum(row[0] for row in rows),
        others=Counter(decision for _, equivalent, decision, *_ in rows if not equivalent),
        draws=sum(row[3].draws for row in rows),
        anchor="" if worst[0] else worst[4],
    )


@dataclass(frozen=True)
class JudgedResult:
    """A case on an engine, and the bundle that has it."""

    bundle: Bundle
    case: CaseResult
    got: BackendResult


def cell_of(
    engine: str,
    column: str,
    results: Sequence[JudgedResult],
    explained: dict[Key, str],
    prop: Property | None = None,
) -> MatrixCell:
    """Return a cell. prop: of a property, in which each case that differs has its own entry."""
    judged = [result for result in results if result.got.verdict != "skipped"]
    verdicts = [result.got.verdict for result in judged]
    lacks = "" if judged or not results else results[0].got.detail
    return MatrixCell(
        column=visible(column),
        judged=len(judged),
        identical=verdicts.count("identical"),
        met=sum(result.case.met(engine) for result in judged),
        skipped=len(results) - len(judged),
        verdict=worst(verdicts) if verdicts else None,
        lacks=visible(one_line(lacks, LONGEST)),
        anchor=anchor(engine, FOLDER if prop else "sampler", column),
        replay=_replay(engine, judged, prop) if judged else "",
        differences=list(_differences(engine, judged, explained, prop)),
    )


def _replay(engine: str, judged: Sequence[JudgedResult], prop: Property | None) -> str:
    """Return, of a property, all of its cases, of a sampler the first: they are of many suites."""
    first = judged[0]
    if prop is None:
        return replay(first.bundle.info, first.case.suite, first.case.id, [engine])
    info = {engine: first.bundle.info.backends[engine]}
    return command(first.case.suite, f"{prop.name}/*", first.bundle.info.seed, info)


def _differences(
    engine: str, judged: Sequence[JudgedResult], explained: dict[Key, str], prop: Property | None
) -> Iterator[CellDifference]:
    """Yield what fails first, then the worst verdict, then what is most frequent."""
    groups: dict[tuple[str, ...], list[JudgedResult]] = defaultdict(list)
    for result in judged:
        got = result.got
        if got.verdict != "identical" or not result.case.met(engine):
            why = visible(one_line(reason(engine, got, explained), LONGEST))
            met = "" if result.case.met(engine) else "not met"
            groups[got.verdict, got.stage, why, met, result.case.id if prop else ""].append(result)
    ranked = sorted(
        groups.items(),
        key=lambda item: (not item[0][3], -_rank(item[1][0]), -len(item[1]), item[1][0].case.id),
    )
    for (_, stage, why, met, _), members in ranked:
        yield _difference_of(engine, stage, why, not met, members, prop)


def _rank(result: JudgedResult) -> int:
    return ORDER.index(result.got.verdict)


def _difference_of(
    engine: str,
    stage: str,
    why: str,
    required: bool,
    members: Sequence[JudgedResult],
    prop: Property | None,
) -> CellDifference:
    first = members[0]
    got, case = first.got, first.case
    margins = [margin for member in members if (margin := _margin(member.got)) is not None]
    return CellDifference(
        verdict=got.verdict,
        stage=visible(stage),
        cases=len(members),
        why=why,
        required=required,
        margin=max(margins, default=None),
        case=visible(case.id),
        description=prop.cases.get(case.id, "") if prop else "",
        what=visible(got.what),
        got=visible(got.values.get("got")),
        expected=visible(got.values.get("expected")),
        detail=visible(one_line(got.detail, LONGEST)),
        replay=replay(first.bundle.info, case.suite, case.id, [engine]),
        others=[visible(member.case.id) for member in members[1 : 1 + MORE_IDS]],
    )


def _margin(got: BackendResult) -> float | None:
    """Return the distance from the cut for a boundary, as a share of the cut; for a close value, by
    how much the first value is off.
    """
    values = got.values
    if got.verdict == "boundary":
        return _number(values.get("margin"))
    a, b = _number(values.get("got")), _number(values.get("expected"))
    return abs(a - b) if got.verdict == "close" and a is not None and b is not None else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


Results = dict[str, list[JudgedResult]]  # by engine


def matrix_of(bundles: list[Bundle], explained: dict[Key, str] | None = None) -> Matrix | None:
    """Return None where no property was asked, and fewer than two engines of others ran.

    explained: that of suites/explanations.toml. Raises InputError for a bad file of it.
    """
    # asked first of all: the results of a bundle take as much memory as its records
    suites = {case.suite for bundle in bundles for case, _ in bundle.cases.alike()}
    names = {name for bundle in bundles for name in bundle.info.backends}
    several = sum(without_build(name) in _OF_OTHERS for name in names) > 1
    if not several and not any(suite.startswith(f"{FOLDER}/") for suite in suites):
        return None
    results = _results(bundles)
    all_results = [result for group in results.values() for result in group]
    of_others = [name for name in results if without_build(name) in _OF_OTHERS]
    if not any(map(_property, all_results)) and len(of_others) < 2:
        return None
    explained = all_explanations() if explained is None else explained
    properties = asked_of(bundles, {name for result in all_results if (name := _property(result))})
    tried = {s for result in all_results if not _property(result) for s in result.case.samplers}
    samplers = [OWN_WORDS] if tried - ROWS.keys() else []
    samplers += [sampler for sampler in ROWS if sampler in tried]
    laws = distributions_of(bundles)
    engines = [
        _engine(name, results[name], bundles, properties, samplers, explained).model_copy(
            update={"law": laws.get(name)}
        )
        for name in sorted(results, key=place)
    ]
    return Matrix(
        properties=properties,
        samplers=[visible(sampler) for sampler in samplers],
        engines=engines,
        absent=list(_absent({without_build(name) for name in results})),
        unexplained=sum(c.unexplained for e in engines if e.ours for c in e.cells),
        failing=sum(cell.judged - cell.met for engine in engines for cell in engine.cells),
    )


def _results(bundles: Sequence[Bundle]) -> Results:
    """Return no result for an engine that did not run. A case in several bundles counts once, as
    the worst."""
    results: dict[str, dict[tuple[str, str], JudgedResult]] = defaultdict(dict)
    for bundle in bundles:
        names = [name for name, info in bundle.info.backends.items() if info.reference == NEWEST]
        for name in names:
            of_engine = results[name]
            for case in bundle.cases:
                if name not in case.backends:
                    continue
                result = JudgedResult(bundle, case, case.backends[name])
                before = of_engine.setdefault((case.suite, case.id), result)
                if ORDER.index(result.got.verdict) > ORDER.index(before.got.verdict):
                    of_engine[case.suite, case.id] = result
    return {name: [*of_engine.values()] for name, of_engine in results.items()}


def _property(result: JudgedResult) -> str:
    """Return the name of the property that a result is about, or ""."""
    folder, _, name = result.case.suite.partition("/")
    return name if folder == FOLDER else ""


def _engine(
    name: str,
    results: list[JudgedResult],
    bundles: Sequence[Bundle],
    properties: Sequence[Property],
    samplers: Sequence[str],
    explained: dict[Key, str],
) -> EngineRow:
    infos = [bundle.info.backends[name] for bundle in bundles if name in bundle.info.backends]
    info = next((info for info in infos if not info.unavailable), infos[0])
    by_property: dict[str, list[JudgedResult]] = defaultdict(list)
    by_sampler: dict[str, list[JudgedResult]] = defaultdict(list)
    for result in results:
        if of := _property(result):
            by_property[of].append(result)
            continue
        counted = counts_for(result.case, name)
        for sampler in counted & ROWS.keys():
            by_sampler[sampler].append(result)
        if counted - ROWS.keys() and not of_llama_cpp(name):  # of these it is a double
            by_sampler[OWN_WORDS].append(result)
    base = without_build(name)
    return EngineRow(
        name=visible(name),
        what=ENGINES[base].what if base in ENGINES else "",
        page=ENGINES[base].documented if base in ENGINES else "",
        ours=base in ENGINES,
        version=visible(info.version),
        build=visible(info.build),
        device=visible(info.device),
        anchor=anchor(name),
        unavailable=visible(info.unavailable) if not results else "",
        properties=[
            cell_of(name, prop.name, by_property[prop.name], explained, prop) for prop in properties
        ],
        samplers=[cell_of(name, s, by_sampler[s], explained) for s in samplers],
        law=None,
    )


def _absent(present: set[str]) -> Iterator[Absent]:
    """Yield the engines that can run and are in no bundle."""
    for row in ENGINES.values():
        if row.name not in present and (row.in_make_engines or row.device):
            suites = [suite for suite in row.suites if suite != FOLDER]
            command = ["sampler-parity", "run", *suites, FOLDER, "-b", row.name]
            yield Absent(name=row.name, what=row.what, needs=row.needs, command=shell.join(command))
