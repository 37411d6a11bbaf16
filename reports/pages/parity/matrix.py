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

Seen = tuple[Verdict, str, str]  # verdict, stage, and why it is not identical
Tally = dict[str, Counter[Seen]]  # by sampler; "" for all of them


def matrix(
    bundles: list[Bundle], explained: dict[Key, str] | None = None
) -> matrix_model.ParityMatrix | None:
    """Return None where nothing but llama.cpp ran. explained: that of suites/explanations.toml.
    Raises InputError for a bad file of explanations."""
    asked = {name for bundle in bundles for name in _newest(bundle)}
    if all(map(of_llama_cpp, asked)):
        return None
    if explained is None:
        explained = all_explanations()
    tallies, tried = _tallies(bundles, explained)
    if all(map(of_llama_cpp, tallies)):
        return None
    names = sorted(tallies, key=place)
    samplers = [s for s in ALL_SAMPLERS if s in tried] + sorted(tried - ALL_SAMPLERS.keys())
    rows = [
        matrix_model.ParityMatrixRow(
            sampler=visible(sampler),
            cells=[_cell(tallies[name][sampler]) for name in names],
        )
        for sampler in samplers
    ]
    return matrix_model.ParityMatrix(
        backends=[visible(name) for name in names],
        rows=rows,
        unexplained=sum(_unexplained(name, tallies[name][""]) for name in names),
    )


def _newest(bundle: Bundle) -> list[str]:
    """Return the backends that are judged by the newest release."""
    return [name for name, about in bundle.info.backends.items() if about.reference == NEWEST]


def _tallies(bundles: list[Bundle], explained: dict[Key, str]) -> tuple[dict[str, Tally], set[str]]:
    """Count the results by backend, and name the samplers of their cases. The cases are visited
    once and not kept: a million may have as many chains."""
    tallies: dict[str, Tally] = defaultdict(lambda: defaultdict(Counter))
    tried: set[str] = set()
    for bundle in bundles:
        newest = _newest(bundle)
        for case, n in bundle.cases.alike():
            for name in newest:
                if (result := case.backends.get(name)) is None:
                    continue
                same = result.verdict == "identical"
                why = "" if same else reason(name, result, explained)
                seen = result.verdict, result.stage, why
                tried.update(case.samplers)
                for sampler in {*counts_for(case, name), ""}:
                    tallies[name][sampler][seen] += n
    return tallies, tried


def _cell(of_all: Counter[Seen]) -> matrix_model.ParityMatrixCell:
    # what was judged; where nothing was, what was skipped
    judged = Counter({seen: n for seen, n in of_all.items() if seen[0] != "skipped"}) or of_all
    return matrix_model.ParityMatrixCell(
        cases=judged.total(),
        identical=sum(n for (verdict, _, _), n in judged.items() if verdict == "identical"),
        verdict=worst([verdict for verdict, _, _ in judged]) if judged else None,
        differences=list(_differences(judged)),
    )


def _differences(seen: Counter[Seen]) -> Iterator[matrix_model.MatrixDifference]:
    """Yield the worst verdict first; of one verdict, the most frequent stage first."""
    groups: dict[tuple[Verdict, str], Counter[str]] = defaultdict(Counter)
    for (verdict, stage, why), n in seen.items():
        if verdict != "identical":
            groups[verdict, stage][why] += n
    ranked = sorted(groups.items(), key=lambda item: (-ORDER.index(item[0][0]), -item[1].total()))
    for (verdict, stage), whys in ranked:
        yield matrix_model.MatrixDifference(
            stage=visible(stage),
            verdict=verdict,
            cases=whys.total(),
            # one that is not explained must be seen, however many are
            why="" if "" in whys else visible(one_line(whys.most_common(1)[0][0], 160)),
        )


def _unexplained(name: str, seen: Counter[Seen]) -> int:
    """Count for a backend of this project; other authors explain their own."""
    if without_build(name) not in ENGINES:
        return 0
    return sum(n for (verdict, _, why), n in seen.items() if verdict != "identical" and not why)
