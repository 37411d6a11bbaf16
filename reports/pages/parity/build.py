"""Builds the model of the parity page from a finished bundle. The worst stands first everywhere."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.counterexample import CounterexampleResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.groups import counts_for, first_difference, groups
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.verdicts import ORDER, Verdict
from sampler_parity.reports.pages.parity import model
from sampler_parity.reports.pages.parity.devices import devices
from sampler_parity.reports.pages.parity.drift import drift
from sampler_parity.reports.pages.parity.matrix import matrix
from sampler_parity.reports.pages.parity.merged import agreements
from sampler_parity.reports.pages.parity.speed import REFERENCE, timing
from sampler_parity.reports.times import times

SLOWEST = 15


def report_of(bundles: list[Bundle]) -> model.Report:
    """Return a section for each bundle. Raises InputError for a bundle that contradicts itself."""
    sections = [section(bundle) for bundle in bundles]
    across = matrix(bundles)
    explained = across is None or across.unexplained == 0
    return model.Report(
        ok=bool(sections) and all(part.ok for part in sections) and explained,
        sections=sections,
        matrix=across,
        drift=drift(bundles, sections),
        devices=devices(bundles, sections),
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
    info = RunInfo.model_validate(visible(bundle.info.model_dump()))
    cases = [CaseResult.model_validate(visible(c.model_dump())) for c in bundle.cases]
    small = [
        CounterexampleResult.model_validate(visible(record.model_dump()))
        for record in bundle.counterexamples
    ]
    _check_names(bundle.folder, info, cases)
    names = list(info.backends)
    running = [name for name, backend in info.backends.items() if not backend.unavailable]
    differences = _differences(info, cases)
    problems = [problem for case in cases for problem in _problems(info, case)]
    judged = [case for case in cases if case.judged]
    met = sum(_whole(case, running) for case in judged)
    return model.Section(
        bundle=visible(bundle.folder.resolve().name),
        ok=bool(judged or bundle.cells) and met == len(judged),
        run=info,
        cases=len(cases),
        cases_judged=len(judged),
        cases_met=met,
        steps=sum(case.steps for case in cases),
        draws=sum(case.draws for case in cases),
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        backends=_summaries(info, cases),
        matrix=_of_samplers(cases, names),
        suites=_rows(
            [(case.suite, case) for case in cases],
            names,
            _digests(bundle, info),
        ),
        findings=groups(info, cases, small),
        differences=differences,
        problems=problems,
        slowest=_slowest(cases),
        timings=_timings(bundle, cases),
        times=times(cases),
        agreeing=agreements(cases),
    )


def _digests(bundle: Bundle, info: RunInfo) -> dict[str, str]:
    """Return the digests of suites with cases. Suites with only other results have their own
    pages."""
    others = {visible(result.suite) for result in bundle.other_results}
    others -= {visible(case.suite) for case in bundle.cases}
    return {suite: digest for suite, digest in info.suites.items() if suite not in others}


def _check_names(folder: Path, info: RunInfo, cases: list[CaseResult]) -> None:
    for case in cases:
        if unknown := case.backends.keys() - info.backends.keys():
            problem = f"case {case.id}: backend {min(unknown)} is not in run.json"
            raise InputError(folder / "results.jsonl", problem, "make the bundle again")


def _whole(case: CaseResult, names: list[str]) -> bool:
    """Return whether each of these backends has a result for the case and, if asked, the required
    one.
    """
    return bool(names) and all(name in case.backends and not case.failed(name) for name in names)


def tally(cases: Iterable[CaseResult], backend: str) -> model.Tally:
    counted: Counter[Verdict] = Counter()
    total = met = 0
    for case in cases:
        total += 1
        if backend in case.backends:
            counted[case.backends[backend].verdict] += 1
            met += case.met(backend)
    return model.Tally(
        cases=total,
        met=met,
        not_run=total - counted.total(),
        verdicts={verdict: counted[verdict] for verdict in ORDER if counted[verdict]},
    )


def _summaries(info: RunInfo, cases: list[CaseResult]) -> list[model.ParityBackend]:
    summaries = []
    for name, facts in info.backends.items():
        results = [case.backends[name] for case in cases if name in case.backends]
        summaries.append(
            model.ParityBackend(
                name=name,
                version=facts.version,
                build=facts.build,
                device=facts.device,
                unavailable=facts.unavailable,
                tally=tally(cases, name),
                wall_s=sum(result.wall_s for result in results),
                backend_s=sum(result.ns for result in results) / 1e9,
            )
        )
    return sorted(summaries, key=lambda summary: _badness([summary.tally]))


def _rows(
    members: list[tuple[str, CaseResult]], names: list[str], digests: dict[str, str]
) -> list[model.ParityRow]:
    groups: dict[str, list[CaseResult]] = {}
    for key, case in members:
        groups.setdefault(key, []).append(case)
    for key in digests:
        groups.setdefault(key, [])  # a suite without a case must be seen
    rows = [
        model.ParityRow(
            key=key,
            digest=digests.get(key, ""),
            cases=len(cases),
            backends={name: tally(cases, name) for name in names},
        )
        for key, cases in sorted(groups.items())
    ]
    return sorted(rows, key=lambda row: (row.cases > 0, *_badness(row.backends.values())))


def _of_samplers(cases: list[CaseResult], names: list[str]) -> list[model.ParityRow]:
    """Return a row for each sampler; a backend counts the cases that are evidence for it there."""
    rows = []
    for sampler in sorted({sampler for case in cases for sampler in case.samplers}):
        through = [case for case in cases if sampler in case.samplers]
        tallies = {
            name: tally([c for c in through if sampler in counts_for(c, name)], name)
            for name in names
        }
        rows.append(model.ParityRow(key=sampler, cases=len(through), backends=tallies))
    return sorted(rows, key=lambda row: _badness(row.backends.values()))


def _badness(tallies: Iterable[model.Tally]) -> tuple[int, int]:
    """Sort key: most cases not met first, then most that are not identical."""
    tallies = list(tallies)
    return (
        sum(t.met - t.judged for t in tallies),
        sum(t.verdicts.get("identical", 0) - t.judged for t in tallies),
    )


def _differences(info: RunInfo, cases: list[CaseResult]) -> list[model.ParityDifference]:
    differences = [
        _difference(info, case, name, result)
        for case in cases
        for name, result in case.backends.items()
        if result.verdict != "skipped"
        and (result.verdict != "identical" or "identical" not in case.required[name])
    ]
    return sorted(differences, key=_rank)


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
    none = [] if case.steps or case.refusal or not case.judged else ["no step was taken"]
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


def _slowest(cases: list[CaseResult]) -> list[model.SlowCase]:
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
        for case in sorted(cases, key=total_s, reverse=True)[:SLOWEST]
    ]


def _timings(bundle: Bundle, cases: list[CaseResult]) -> list[model.Timing]:
    rows = []
    for result in bundle.timings:
        if REFERENCE not in result.ns:
            continue  # nothing to rule on; the throughput page has it
        of_sampler = [c for c in cases if result.sampler in c.samplers and c.judged]
        met = sum(case.ok and bool(case.backends) for case in of_sampler)
        cleaned = type(result).model_validate(visible(result.model_dump()))
        rows.append(timing(cleaned, met, len(of_sampler)))
    return sorted(rows, key=_slowness)


def _slowness(row: model.Timing) -> tuple[int, float]:
    """Return a sort key: rule not met first, then not judged, then the largest ratio."""
    ratios = [b.ratio.value for b in row.backends if b.ratio and b.name == "reference"]
    return ({False: 0, None: 1, True: 2}[row.rule.met], -max(ratios, default=0.0))
