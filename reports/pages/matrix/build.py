"""From bundles to the matrix: every engine of all of them, at every property and every sampler.

Only what is judged by the newest release stands here; the table of drift is about the others. A
result counts for its property, or for the sampler at which it first differs; those that an engine
has under names of its own have one column together.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.names import without_build
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.failures.explanations import (
    Key,
    all_explanations,
)
from sampler_parity.harness.failures.groups import counts_for
from sampler_parity.harness.processes import shell
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.registry import ROWS
from sampler_parity.reports.engine_order import of_llama_cpp, place
from sampler_parity.reports.pages.matrix.cells import Result, cell_of
from sampler_parity.reports.pages.matrix.distributions import distributions_of
from sampler_parity.reports.pages.matrix.model import Absent, EngineRow, Matrix, Property
from sampler_parity.reports.pages.matrix.properties import FOLDER, asked_of
from sampler_parity.reports.summary import anchor

OWN = "own words"  # samplers that are not llama.cpp's, against their pipeline of the reference
Results = dict[str, list[Result]]  # by engine
_OF_OTHERS = {row.name for row in ENGINES.values() if row.in_make_engines}


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
    every = [result for each in results.values() for result in each]
    of_others = [name for name in results if without_build(name) in _OF_OTHERS]
    if not any(map(_property, every)) and len(of_others) < 2:
        return None
    explained = all_explanations() if explained is None else explained
    asked = asked_of(bundles, {name for result in every if (name := _property(result))})
    tried = {s for result in every if not _property(result) for s in result.case.samplers}
    samplers = [OWN] if tried - ROWS.keys() else []
    samplers += [sampler for sampler in ROWS if sampler in tried]
    laws = distributions_of(bundles)
    engines = [
        _engine(name, results[name], bundles, asked, samplers, explained).model_copy(
            update={"law": laws.get(name)}
        )
        for name in sorted(results, key=place)
    ]
    return Matrix(
        properties=asked,
        samplers=[visible(sampler) for sampler in samplers],
        engines=engines,
        absent=list(_absent({without_build(name) for name in results})),
        unexplained=sum(c.unexplained for e in engines if e.ours for c in e.cells),
        failing=sum(cell.judged - cell.met for engine in engines for cell in engine.cells),
    )


def _results(bundles: Sequence[Bundle]) -> Results:
    """Return no result for an engine that did not run. A case in several bundles counts once, as
    the worst."""
    results: dict[str, dict[tuple[str, str], Result]] = defaultdict(dict)
    for bundle in bundles:
        names = [name for name, info in bundle.info.backends.items() if info.reference == NEWEST]
        for name in names:
            of_engine = results[name]
            for case in bundle.cases:
                if name not in case.backends:
                    continue
                result = Result(bundle, case, case.backends[name])
                before = of_engine.setdefault((case.suite, case.id), result)
                if ORDER.index(result.got.verdict) > ORDER.index(before.got.verdict):
                    of_engine[case.suite, case.id] = result
    return {name: [*of_engine.values()] for name, of_engine in results.items()}


def _property(result: Result) -> str:
    """Return the name of the property that a result is about, or ""."""
    folder, _, name = result.case.suite.partition("/")
    return name if folder == FOLDER else ""


def _engine(
    name: str,
    results: list[Result],
    bundles: Sequence[Bundle],
    asked: Sequence[Property],
    samplers: Sequence[str],
    explained: dict[Key, str],
) -> EngineRow:
    infos = [bundle.info.backends[name] for bundle in bundles if name in bundle.info.backends]
    info = next((info for info in infos if not info.unavailable), infos[0])
    by_property: dict[str, list[Result]] = defaultdict(list)
    by_sampler: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if of := _property(result):
            by_property[of].append(result)
            continue
        counted = counts_for(result.case, name)
        for sampler in counted & ROWS.keys():
            by_sampler[sampler].append(result)
        if counted - ROWS.keys() and not of_llama_cpp(name):  # of these it is a double
            by_sampler[OWN].append(result)
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
            cell_of(name, each.name, by_property[each.name], explained, each) for each in asked
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
