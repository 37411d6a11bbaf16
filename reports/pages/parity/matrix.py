"""The parity matrix, sampler x implementation, over all bundles of a report.

It holds only results that are judged by the newest release; the table of drift compares a build
with its own release. If only builds of llama.cpp ran, there is no matrix; next to another
implementation they are in it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.names import without_build
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.failures.explanations import (
    Key,
    all_explanations,
)
from sampler_parity.harness.failures.groups import counts_for
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.harness.verdicts import ORDER, Verdict, worst
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reports.engine_order import of_llama_cpp, place, reason
from sampler_parity.reports.pages.parity import matrix_model

Counted = list[tuple[CaseResult, BackendResult, int]]  # a case for so many that are alike
Results = dict[str, Counted]


def matrix(
    bundles: list[Bundle], explained: dict[Key, str] | None = None
) -> matrix_model.ParityMatrix | None:
    """Return None where nothing but llama.cpp ran. explained: that of suites/explanations.toml.
    Raises InputError for a bad file of explanations."""
    results = _results(bundles)
    if all(map(of_llama_cpp, results)):
        return None
    if explained is None:
        explained = all_explanations()
    names = sorted(results, key=place)
    tried = {
        sampler for found in results.values() for case, _, _ in found for sampler in case.samplers
    }
    samplers = [s for s in ALL_SAMPLERS if s in tried] + sorted(tried - ALL_SAMPLERS.keys())
    rows = [
        matrix_model.ParityMatrixRow(
            sampler=visible(sampler),
            cells=[_cell(sampler, name, results[name], explained) for name in names],
        )
        for sampler in samplers
    ]
    return matrix_model.ParityMatrix(
        backends=[visible(name) for name in names],
        rows=rows,
        unexplained=sum(_unexplained(name, results[name], explained) for name in names),
    )


def _results(bundles: list[Bundle]) -> Results:
    results: Results = defaultdict(list)
    for bundle in bundles:
        for case, n in bundle.cases.alike():
            for name, result in case.backends.items():
                if bundle.info.backends[name].reference == NEWEST:
                    results[name].append((case, result, n))
    return results


def _cell(
    sampler: str,
    name: str,
    results: Counted,
    explained: dict[Key, str],
) -> matrix_model.ParityMatrixCell:
    of_all = [(result, n) for case, result, n in results if sampler in counts_for(case, name)]
    # what was judged; where nothing was, what was skipped
    of_sampler = [(result, n) for result, n in of_all if result.verdict != "skipped"] or of_all
    return matrix_model.ParityMatrixCell(
        cases=sum(n for _, n in of_sampler),
        identical=sum(n for result, n in of_sampler if result.verdict == "identical"),
        verdict=worst([result.verdict for result, _ in of_sampler]) if of_sampler else None,
        differences=list(_differences(name, of_sampler, explained)),
    )


def _differences(
    name: str, results: list[tuple[BackendResult, int]], explained: dict[Key, str]
) -> Iterator[matrix_model.MatrixDifference]:
    """Yield the worst verdict first; of one verdict, the most frequent stage first."""
    groups: dict[tuple[Verdict, str], Counter[str]] = defaultdict(Counter)
    for result, n in results:
        if result.verdict != "identical":
            groups[result.verdict, result.stage][reason(name, result, explained)] += n
    ranked = sorted(groups.items(), key=lambda item: (-ORDER.index(item[0][0]), -item[1].total()))
    for (verdict, stage), whys in ranked:
        yield matrix_model.MatrixDifference(
            stage=visible(stage),
            verdict=verdict,
            cases=whys.total(),
            # one that is not explained must be seen, however many are
            why="" if "" in whys else visible(one_line(whys.most_common(1)[0][0], 160)),
        )


def _unexplained(name: str, results: Counted, explained: dict[Key, str]) -> int:
    """Count for a backend of this project; other authors explain their own."""
    if without_build(name) not in ENGINES:
        return 0
    return sum(
        n
        for _, result, n in results
        if result.verdict != "identical" and not reason(name, result, explained)
    )
