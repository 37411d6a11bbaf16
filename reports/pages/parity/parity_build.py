"""Builds the model of the parity page from finished bundles. The worst stands first everywhere.

Timings have medians, ratios to llama.cpp with their interval, and the ratio rule. The samples of a
round stand next to each other and depend on each other, so the bootstrap draws whole rounds, the
same ones for both backends.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.cases import alike, where
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, CounterexampleResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.verdict import nearest_rank
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.groups import counts_for, first_difference, groups
from sampler_parity.harness.sanitize.printable import escaped, visible
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.pages.parity import parity_model as model
from sampler_parity.reports.pages.parity.parity_devices import devices
from sampler_parity.reports.pages.parity.parity_findings import agreements
from sampler_parity.reports.pages.parity.parity_implementations import matrix
from sampler_parity.reports.pages.parity.parity_releases import drift
from sampler_parity.reports.parts import times

NATIVE = "llama.cpp"
REFERENCE = "reference"
_RESAMPLES = 2000
SLOWEST = 15


def report_of(bundles: list[Bundle]) -> model.Report:
    """Return a section for each bundle. Raises InputError for a bundle that contradicts itself."""
    sections = [section(bundle) for bundle in bundles]
    names = [part.bundle for part in sections]
    across = matrix(bundles)
    explained = across is None or across.unexplained == 0
    return model.Report(
        ok=bool(sections) and all(part.ok for part in sections) and explained,
        sections=sections,
        matrix=across,
        drift=drift(bundles, names),
        devices=devices(bundles, names),
    )


def headlines(report: model.Report) -> list[str]:
    """Return the result of the report in a few lines."""
    met = sum(s.cases_met for s in report.sections)
    judged = sum(s.cases_judged for s in report.sections)
    lines = [f"{met:,}/{judged:,} cases as required on every backend"]
    skipped = sum(s.cases - s.cases_judged for s in report.sections)
    lines += [f"{skipped:,} cases skipped: not claimed"] if skipped else []
    differing = sum(len(s.failures) + len(s.problems) for s in report.sections)
    allowed = sum(len(s.accepted) for s in report.sections)
    lines += [f"{differing:,} failures, {allowed:,} allowed differences"]
    if report.matrix and report.matrix.unexplained:
        lines.append(f"{report.matrix.unexplained:,} results are not explained")
    return lines


def section(bundle: Bundle) -> model.Section:
    """Return the section of a bundle. Raises InputError if results name backends that run.json
    lacks."""
    info, cases = escaped(bundle.info), bundle.cases.escaped()
    small = [*map(escaped, bundle.of(CounterexampleResult))]
    _check_names(bundle.folder, info, cases)
    names = list(info.backends)
    running = [name for name, backend in info.backends.items() if not backend.unavailable]
    differences = _differences(info, cases)
    unsound = where(cases, lambda case: bool(_problems(info, case)))
    judged = sum(n for case, n in alike(cases) if case.judged)
    met = sum(n for case, n in alike(cases) if case.judged and _whole(case, running))
    return model.Section(
        bundle=visible(bundle.folder.resolve().name),
        ok=bool(judged or bundle.of(DistributionResult)) and met == judged,
        run=info,
        cases=len(cases),
        cases_judged=judged,
        cases_met=met,
        steps=sum(n * case.steps for case, n in alike(cases)),
        draws=sum(n * case.draws for case, n in alike(cases)),
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        backends=_summaries(info, cases),
        matrix=_rows(cases, names, counts_for, {}),
        suites=_rows(cases, names, lambda case, _: [case.suite], _digests(bundle, info)),
        findings=groups(info, cases, small),
        differences=differences,
        problems=[problem for case in unsound for problem in _problems(info, case)],
        slowest=_slowest(cases),
        timings=_timings(bundle, cases),
        times=times(cases),
        agreeing=agreements(cases),
    )


def _digests(bundle: Bundle, info: RunInfo) -> dict[str, str]:
    """Return the digests of suites with cases. Suites with only other results have their own
    pages."""
    without_cases = {visible(result.suite) for result in bundle.other_results}
    without_cases -= {visible(case.suite) for case, _ in alike(bundle.cases)}
    return {suite: digest for suite, digest in info.suites.items() if suite not in without_cases}


def _check_names(folder: Path, info: RunInfo, cases: Sequence[CaseResult]) -> None:
    for case, _ in alike(cases):
        if unknown := case.backends.keys() - info.backends.keys():
            problem = f"case {case.id}: backend {min(unknown)} is not in run.json"
            raise InputError(folder / "results.jsonl", problem, "make the bundle again")


def _whole(case: CaseResult, names: list[str]) -> bool:
    """Return whether each of these backends has a result for the case and, if asked, the required
    one.
    """
    return bool(names) and all(name in case.backends and not case.failed(name) for name in names)


def _tallies(
    cases: Sequence[CaseResult],
    names: Iterable[str],
    keys: Callable[[CaseResult, str], Collection[str]],
) -> dict[tuple[str, str], model.Tally]:
    """Return tallies by key and backend. keys: those for which a case counts on a backend."""
    counted: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for case, n in alike(cases):
        for name in names:
            for key in keys(case, name):
                counts = counted[key, name]
                counts["cases"] += n
                if name in case.backends:
                    counts[case.backends[name].verdict] += n
                    counts["met"] += n * case.met(name)
    return defaultdict(lambda: _tally(Counter()), {at: _tally(n) for at, n in counted.items()})


def _tally(counts: Counter[str]) -> model.Tally:
    verdicts = {verdict: counts[verdict] for verdict in ORDER if counts[verdict]}
    total, met = counts["cases"], counts["met"]
    not_run = total - sum(verdicts.values())
    return model.Tally(cases=total, met=met, not_run=not_run, verdicts=verdicts)


def _summaries(info: RunInfo, cases: Sequence[CaseResult]) -> list[model.ParityBackend]:
    tallies = _tallies(cases, info.backends, lambda case, name: [""])
    wall_s, ns = dict.fromkeys(info.backends, 0.0), dict.fromkeys(info.backends, 0)
    for case in cases:
        for name, result in case.backends.items():
            wall_s[name] += result.wall_s
            ns[name] += result.ns
    summaries = [
        model.ParityBackend(
            name=name,
            version=facts.version,
            build=facts.build,
            device=facts.device,
            unavailable=facts.unavailable,
            tally=tallies["", name],
            wall_s=wall_s[name],
            backend_s=ns[name] / 1e9,
        )
        for name, facts in info.backends.items()
    ]
    return sorted(summaries, key=lambda summary: _badness([summary.tally]))


def _rows(
    cases: Sequence[CaseResult],
    names: list[str],
    keys: Callable[[CaseResult, str], Collection[str]],
    digests: dict[str, str],
) -> list[model.ParityRow]:
    """Return a row for each key. keys: as for `_tallies`; on the backend "" all of a case."""
    tallies = _tallies(cases, ["", *names], keys)
    row_keys = {key for key, _ in tallies} | digests.keys()  # a suite without a case must be seen
    rows = [
        model.ParityRow(
            key=key,
            digest=digests.get(key, ""),
            cases=tallies[key, ""].cases,
            backends={name: tallies[key, name] for name in names},
        )
        for key in sorted(row_keys)
    ]
    return sorted(rows, key=lambda row: (row.cases > 0, *_badness(row.backends.values())))


def _badness(tallies: Iterable[model.Tally]) -> tuple[int, int]:
    """Sort key: most cases not met first, then most that are not identical."""
    tallies = list(tallies)
    return (
        sum(t.met - t.judged for t in tallies),
        sum(t.verdicts.get("identical", 0) - t.judged for t in tallies),
    )


def _differences(info: RunInfo, cases: Sequence[CaseResult]) -> list[model.ParityDifference]:
    differences = [
        _difference(info, case, name, case.backends[name])
        for case in where(cases, lambda case: bool(_differing(case)))
        for name in _differing(case)
    ]
    return sorted(differences, key=_rank)


def _differing(case: CaseResult) -> list[str]:
    return [
        name
        for name, result in case.backends.items()
        if result.verdict != "skipped"
        and (result.verdict != "identical" or "identical" not in case.required[name])
    ]


def _rank(difference: model.ParityDifference) -> tuple[bool, int, str, str]:
    """Sort key: not allowed first, then the worst verdict."""
    return (
        difference.met,
        -ORDER.index(difference.verdict),
        difference.case,
        difference.backend,
    )


def _difference(
    info: RunInfo, case: CaseResult, name: str, result: BackendResult
) -> model.ParityDifference:
    return model.ParityDifference(
        **first_difference(info, case, name),
        backend=name,
        verdict=result.verdict,
        met=result.among(case.passing(name)),
    )


def _problems(info: RunInfo, case: CaseResult) -> list[model.Problem]:
    command = replay(info, case.suite, case.id, info.backends)
    running = [name for name, backend in info.backends.items() if not backend.unavailable]
    missing = [name for name in running if name not in case.backends]
    stated = case.steps or case.refusal or case.unasked or not case.judged
    none = [] if stated else ["no step was taken"]
    kinds: list[tuple[str, list[str]]] = [
        ("refused", [case.refusal] if case.refusal else []),
        ("expectation", [case.unmet] if case.unmet else []),
        ("no step", none),
        ("not run", [f"no result from {name}" for name in missing] or _no_backend(info)),
    ]
    return [
        model.Problem.model_validate(
            {
                "case": case.id,
                "suite": case.suite,
                "samplers": case.samplers,
                "kind": kind,
                "detail": "; ".join(details),
                "replay": command,
            }
        )
        for kind, details in kinds
        if details
    ]


def _no_backend(info: RunInfo) -> list[str]:
    any_runs = any(not backend.unavailable for backend in info.backends.values())
    return [] if any_runs else ["no backend of the run runs here"]


def _slowest(cases: Sequence[CaseResult]) -> list[model.SlowCase]:
    def total_s(case: CaseResult) -> float:
        return case.reference_s + sum(result.wall_s for result in case.backends.values())

    return [
        model.SlowCase(
            case=case.id,
            suite=case.suite,
            steps=case.steps,
            reference_s=case.reference_s,
            wall_s={name: result.wall_s for name, result in case.backends.items()},
        )
        for case in heapq.nlargest(SLOWEST, cases, key=total_s)
    ]


def _timings(bundle: Bundle, cases: Sequence[CaseResult]) -> list[model.Timing]:
    rows = []
    for result in bundle.of(TimingResult):
        if REFERENCE not in result.ns:
            continue  # nothing to rule on; the throughput page has it
        of_sampler = [
            (case.ok and bool(case.backends), n)
            for case, n in alike(cases)
            if result.sampler in case.samplers and case.judged
        ]
        met, judged = (sum(n for ok, n in of_sampler if ok), sum(n for _, n in of_sampler))
        rows.append(timing(escaped(result), met, judged))
    return sorted(rows, key=_slowness)


def _slowness(row: model.Timing) -> tuple[int, float]:
    """Return a sort key: rule not met first, then not judged, then the largest ratio."""
    ratios = [b.ratio.value for b in row.backends if b.ratio and b.name == "reference"]
    return ({False: 0, None: 1, True: 2}[row.rule.met], -max(ratios, default=0.0))


def timing(result: TimingResult, parity_met: int, parity_cases: int) -> model.Timing:
    """Return a row of the report. Backends with another number of samples get no ratio."""
    native = _rounds(result, NATIVE)
    medians = {name: float(np.median(ns)) for name, ns in result.ns.items() if ns}
    backends = [
        model.TimedBackend(
            name=name,
            samples=len(ns),
            median_ns=medians[name],
            p99_ns=nearest_rank(ns, 0.99),
            p999_ns=nearest_rank(ns, 0.999),
            ratio=None if name == NATIVE else _ratio(_rounds(result, name), native),
        )
        for name, ns in result.ns.items()
        if ns
    ]
    return model.Timing(
        id=result.id,
        sampler=result.sampler,
        n_vocab=result.n_vocab,
        rounds=max((len(ns) for ns in result.ns.values()), default=0) // result.repetitions,
        backends=backends,
        rule=judge(medians.get(REFERENCE), medians.get(NATIVE)),
        parity_met=parity_met,
        parity_cases=parity_cases,
    )


def judge(reference_ns: float | None, native_ns: float | None) -> model.TimingRule:
    """Judge two medians by the ratio rule; not judged if either is missing."""
    missing = [n for n, x in ((REFERENCE, reference_ns), (NATIVE, native_ns)) if x is None]
    if reference_ns is None or native_ns is None:
        return model.TimingRule(limit_ns=None, met=None, why=f"{' and '.join(missing)} not timed")
    limit = model.RULE_FACTOR * native_ns + model.RULE_EXTRA_NS
    return model.TimingRule(limit_ns=limit, met=reference_ns <= limit, why="")


def _rounds(result: TimingResult, name: str) -> NDArray[Any] | None:
    """Return float64[rounds, repetitions], or None if the samples are not whole rounds."""
    ns = result.ns.get(name, [])
    if not ns or len(ns) % result.repetitions:
        return None
    return np.array(ns, float).reshape(-1, result.repetitions)


def _ratio(ours: NDArray[Any] | None, native: NDArray[Any] | None) -> model.TimingRatio | None:
    if ours is None or native is None or ours.shape != native.shape or not (native > 0).all():
        return None
    value = float(np.median(ours) / np.median(native))
    if len(ours) < 2:
        return model.TimingRatio(value=value, low=None, high=None)

    def of_rounds(rounds: NDArray[Any], axis: int = -1) -> Any:
        chosen = rounds.astype(int)
        return np.median(ours[chosen], axis=(-2, -1)) / np.median(native[chosen], axis=(-2, -1))

    low, high = bootstrap_interval((np.arange(len(ours)),), of_rounds, _RESAMPLES)
    return model.TimingRatio(value=value, low=low, high=high)
