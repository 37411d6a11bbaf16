"""Write predictions of many cases into a bundle: the platforms on which each repeats, and a small
case for every sampler and operation that makes some platform differ."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.bundle.records import Apart, PartingResult, PredictionResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.predict import Prediction, predict
from sampler_parity.harness.failures.shrink import shown, shrink
from sampler_parity.harness.processes.pool import Pool
from sampler_parity.harness.run.judging import portions
from sampler_parity.harness.run.plan import Plan
from sampler_parity.harness.run.run import described, finish

How = tuple[str, tuple[str, ...]]  # the way in which a case differs: a sampler, and its operations
Predicted = list[tuple[PredictionResult, list[Prediction]]]


def predict_into(
    folder: Path, plan: Plan, platforms: Sequence[str], progress: Callable[[int], object]
) -> tuple[Bundle, list[Prediction]]:
    """Write a bundle; return it, and its content as `predict` gives it. progress: called with the
    number of cases of each portion. Raises InputError if the folder already holds a bundle."""
    start = time.monotonic()
    parts = [*portions(plan.items)]
    with Pool(plan.run_options.jobs, len(parts)) as pool:
        info = described(plan.intent, pool)
        with locked(folder):
            writer = create(folder, info.model_copy(update={"paths": plan.paths}))
            everything: list[Prediction] = []
            for records in pool.results(predicted, [(part, platforms) for part in parts]):
                writer.append(*(record for record, _ in records))
                everything += [prediction for _, of_case in records for prediction in of_case]
                progress(len(records))
            for small in pool.results(
                partings, _asked([item.check for item in plan.items], everything)
            ):
                writer.append(*small)
            return finish(writer, time.monotonic() - start), everything


def predicted(items: Sequence[CheckItem], platforms: Sequence[str]) -> Predicted:
    """Predict items. A process of the pool calls this."""
    return [
        (_record(item, platforms, answers), answers)
        for item in items
        for answers in [[*predict(item.check, platforms)]]
    ]


def partings(case: StagesCase, how: How, platforms: Sequence[str]) -> list[PartingResult]:
    """Minimize the case on platforms where it differs in this way, until each has a small case that
    does. A process of the pool calls this."""
    results, remaining = [], [*platforms]
    while remaining:
        first = remaining[0]
        small = shrink(case, partial(_parts_so, how=how, platform=first))
        matches = _alike(small, how, remaining)
        remaining = [name for name in remaining[1:] if name not in matches]
        if matches:
            smaller = shown(small)
            for field in ("id", "description", "why", "tags", "requires", "detail"):
                smaller.pop(field, None)
            results.append(
                PartingResult(
                    id=f"{case.id} on {first}",
                    case=case.id,
                    sampler=how[0],
                    operations=[*how[1]],
                    smaller=smaller,
                    platforms=matches,
                )
            )
    return results


def _parts_so(case: StagesCase, how: How, platform: str) -> bool:
    return platform in _alike(case, how, [platform])


def _alike(case: StagesCase, how: How, platforms: Sequence[str]) -> dict[str, Apart]:
    """Return the platforms on which the case differs in this way, with the difference."""
    answers = {answer.platform: answer for answer in predict(case, platforms)}
    return {name: _apart(answer) for name, answer in answers.items() if _how(answer) == how}


def _asked(
    cases: Sequence[StagesCase], everything: Sequence[Prediction]
) -> list[tuple[StagesCase, How, list[str]]]:
    """Return, for each way to differ, the cheapest case with its platforms, then the cheapest case
    for those that are left, and so on."""
    by_id = {case.id: case for case in cases}
    ways: dict[How, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for answer in everything:
        if (how := _how(answer)) is not None:
            ways[how][answer.case].append(answer.platform)
    calls = []
    for how, of_cases in ways.items():
        remaining = {name for names in of_cases.values() for name in names}
        for case in sorted(of_cases, key=lambda case: (by_id[case].cost, case)):
            names = [name for name in of_cases[case] if name in remaining]
            if names:
                calls.append((by_id[case], how, names))
                remaining -= {*names}
    return calls


def _how(answer: Prediction) -> How | None:
    return (answer.first.sampler, answer.first.operations) if answer.first else None


def _record(
    item: CheckItem, platforms: Sequence[str], answers: Sequence[Prediction]
) -> PredictionResult:
    return PredictionResult(
        id=item.id,
        suite=item.suite,
        samplers=[*dict.fromkeys(item.check.samplers)],
        draws=any(answer.tokens is not None for answer in answers),
        platforms=[*platforms],
        apart={answer.platform: _apart(answer) for answer in answers if not answer.bits},
    )


def _apart(answer: Prediction) -> Apart:
    first = answer.first
    assert first is not None
    return Apart(
        order=answer.order,
        survivors=answer.survivors,
        tokens=answer.tokens,
        token=answer.token,
        step=first.step,
        stage=first.stage,
        sampler=first.sampler,
        what=first.what,
        here=first.baseline,
        there=first.compared,
        operations=[*first.operations],
    )
