"""What the failing cases at a stage have, and the passing ones lack: one feature and one bound.

A sampler that counts in 16 bits fails where an id is 65,536 or more; no rule that its result breaks
shows that. Features are numbers of a case: its sizes, its history, its operations, its parameters.
A bound is stated if all failing cases keep it and few passing ones, with the bracket that the
cases allow.
"""

import inspect
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sampler_parity.harness.bundle.records import CaseResult, CounterexampleResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.failures.counterexample import looks
from sampler_parity.harness.verdicts import RIGHT
from sampler_parity.reference.registry import REFERENCE_SAMPLERS

FEW = 3  # failing cases, at least
ALSO = 0.1  # of the passing cases may have the feature, too: other parameters may hide the fault
CHANCE = 1e-6  # that all failing cases, if drawn at random, would have it


class Contrast(NamedTuple):
    """values: " 65,536 or more"; "" if the feature has no number. outside: the nearest value of a
    passing case beyond the bound, " (4,096 passes)". inside: passing cases that have it, too."""

    feature: str
    values: str
    outside: str
    failing: int
    passing: int
    inside: int

    def __str__(self) -> str:
        counts = f"{self.failing:,} of {self.failing:,} failing cases"
        also = f"{self.inside:,} of {self.passing:,} passing ones"
        return f"{self.feature}{self.values}{self.outside}: {counts}, {also}"


def with_contrast(
    records: Sequence[CounterexampleResult],
    judged: Sequence[CaseResult],
    cases: Mapping[str, Case],
) -> Iterator[CounterexampleResult]:
    """Yield the records. What the failing cases at a stage of a backend have in common becomes the
    value "only with" of its largest group, unless a planted fault explains one there."""
    by_place: dict[tuple[str, str], list[CounterexampleResult]] = {}
    for record in records:
        if record.result is not None:
            by_place.setdefault((record.backend, record.result.stage), []).append(record)
    common = {}
    for (backend, stage), of_stage in by_place.items():
        if any(record.known for record in of_stage):
            continue
        if bound := contrast(*_sides(backend, stage, judged, cases)):
            common[_largest(of_stage, judged)] = str(bound)
    for record in records:
        if record.id in common and record.result is not None:
            values = record.result.values | {"only with": common[record.id]}
            result = record.result.model_copy(update={"values": values})
            record = record.model_copy(update={"result": result})
        yield record


def _largest(records: Sequence[CounterexampleResult], judged: Sequence[CaseResult]) -> str:
    """Return the id of the record whose group has the most cases. All are of one backend."""
    of_backend = (case.backends.get(records[0].backend) for case in judged)
    counts = Counter(looks(result) for result in of_backend if result is not None)
    return max(records, key=lambda record: counts[looks(record.result)] if record.result else 0).id


def _sides(
    backend: str, stage: str, judged: Sequence[CaseResult], cases: Mapping[str, Case]
) -> tuple[list[StagesCase], list[StagesCase]]:
    """Return the cases that fail at a stage of a backend, and those with this stage that pass."""
    failing, passing = list[StagesCase](), list[StagesCase]()
    for result in judged:
        of_backend, case = result.backends.get(backend), cases.get(result.id)
        if of_backend is None or not isinstance(case, StagesCase):
            continue
        if of_backend.verdict in RIGHT and (stage in result.samplers or not stage):
            passing.append(case)
        elif of_backend.verdict not in (*RIGHT, "skipped") and of_backend.stage == stage:
            failing.append(case)
    return failing, passing


def contrast(failing: Sequence[StagesCase], passing: Sequence[StagesCase]) -> Contrast | None:
    """Return the bound that all failing cases keep and the fewest passing ones; None if many do, or
    if failing cases drawn at random might."""
    n, total = len(failing), len(failing) + len(passing)
    if n < FEW or not passing:
        return None
    tables = [features_of(case) for case in (*failing, *passing)]
    names = {name: None for table in tables[:n] for name in table}
    contrasts = [
        bound
        for name in names
        for bound in _bounds(name, [table.get(name, 0) for table in tables], n)
    ]
    best = min(contrasts, key=lambda bound: bound.inside)
    chance = math.comb(n + best.inside, n) / math.comb(total, n)
    return best if best.inside <= ALSO * len(passing) and chance < CHANCE else None


def _bounds(feature: str, values: Sequence[float], n: int) -> Iterator[Contrast]:
    """Yield each bound that the first n values, those of failing cases, keep."""
    failing, passing = values[:n], values[n:]
    least, most = min(failing), max(failing)
    counts = n, len(passing)
    if failing[0] is True:
        yield Contrast(feature, "", "", *counts, sum(value >= least for value in passing))
        return
    below, above = [v for v in passing if v < least], [v for v in passing if v > most]
    if below:
        text = " or more" if most > least else ""
        nearest = f" ({max(below):,.9g} passes)"
        inside = len(passing) - len(below)
        yield Contrast(feature, f" {least:,.9g}{text}", nearest, *counts, inside)
    if above:
        text = " or less" if most > least else ""
        nearest = f" ({min(above):,.9g} passes)"
        inside = len(passing) - len(above)
        yield Contrast(feature, f" {most:,.9g}{text}", nearest, *counts, inside)
    if least == most:
        inside = sum(value == least for value in passing)
        yield Contrast(feature, f" {least:,.9g} alone", "", *counts, inside)


def features_of(case: StagesCase) -> dict[str, float]:
    """Return the features of a case by their names, the plainest first. True: it has one that has
    no number."""
    past, stages = case.past, [pair for stage in case.chain for pair in stage.items()]
    names = Counter(name for name, _ in stages)
    features: dict[str, float] = {"number of candidates": case.logits.n, "steps": case.steps}
    if past:
        features |= {"tokens accepted before": len(past), "largest id accepted before": max(past)}
        features["largest count of a token"] = max(Counter(past).values())
    features["tokens accepted in all"] = len(past) + case.steps
    features |= {"stages of the chain": len(stages), "times a sampler stands in the chain": 0}
    if stages:
        features["times a sampler stands in the chain"] = max(names.values())
    for name, parameters in stages:
        features[f"a stage of {name}"] = True
        for parameter, value in _of_parameters(name, _defaults(name) | parameters).items():
            features[parameter] = max(value, features.get(parameter, value))
    features |= {f"the script {case.script}": True} if case.script != "plain" else {}
    letters = sorted({*"".join(case.operations)})
    return features | {f"the operation {letter}": True for letter in letters}


def _of_parameters(sampler: str, parameters: Mapping[str, object]) -> dict[str, float]:
    features: dict[str, float] = {}
    for name, value in parameters.items():
        if isinstance(value, int | float):
            features[f"{sampler}'s {name}"] = float(value)
        elif isinstance(value, list):
            features[f"entries of {sampler}'s {name}"] = len(value)
            longest = max((len(item) for item in value if isinstance(item, str | list)), default=0)
            features[f"longest entry of {sampler}'s {name}"] = longest
    return features


@cache
def _defaults(sampler: str) -> dict[str, Any]:
    make = REFERENCE_SAMPLERS.get(sampler)
    declared = inspect.signature(make).parameters.values() if make else ()
    return {row.name: row.default for row in declared if row.default is not row.empty}
