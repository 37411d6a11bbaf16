"""Drift across releases: from the results of builds judged by their own release to a table."""

from collections import Counter

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.change import ChangeResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reference.chronology import NEWEST, order
from sampler_parity.reference.meaning import parted
from sampler_parity.reference.releases import CHANGES, between
from sampler_parity.reports.pages.parity import model

Counted = list[tuple[CaseResult, int]]  # cases, each for so many that are alike


def drift(bundles: list[Bundle], sections: list[model.Section]) -> model.Drift | None:
    """Return every build of llama.cpp in these bundles; None if an old release judged none."""
    parts = [
        (section.bundle, bundle, name)
        for bundle, section in zip(bundles, sections, strict=True)
        for name in bundle.info.backends
        if _is_release(bundle.info, name)
    ]
    if all(bundle.info.backends[name].reference == NEWEST for _, bundle, name in parts):
        return None
    parts.sort(key=lambda part: order(parted(part[1].info.backends[part[2]].reference)[0]))
    columns = [
        model.DriftColumn(
            bundle=section,
            backend=visible(name),
            release=bundle.info.backends[name].reference,
        )
        for section, bundle, name in parts
    ]
    cases = [([*bundle.cases.alike()], name) for _, bundle, name in parts]
    samplers = sorted({s for results, _ in cases for case, _ in results for s in case.samplers})
    changes = [
        _change(bundle, change)
        for bundle, section in zip(bundles, sections, strict=True)
        for change in bundle.changes
    ]
    rows = [_row(visible(sampler), sampler, cases, columns) for sampler in samplers]
    return model.Drift(columns=columns, rows=rows, changes=changes)


def _is_release(info: RunInfo, name: str) -> bool:
    built = name == "llama.cpp" or name.startswith(("llama.cpp@", "reference@"))
    return built or info.backends[name].reference != NEWEST


def _row(
    shown: str,
    sampler: str,
    cases: list[tuple[Counted, str]],
    columns: list[model.DriftColumn],
) -> model.DriftRow:
    cells = [
        _cell(sampler, results, name, parted(column.release)[0])
        for (results, name), column in zip(cases, columns, strict=True)
    ]
    return model.DriftRow(sampler=shown, cells=cells, verdict=_verdict(cells, columns))


def _cell(sampler: str, results: Counted, backend: str, release: str) -> model.DriftCell:
    """Return the cases of a sampler on a build. changes: how many need each of its old meanings."""
    of_sampler = [
        (case, n) for case, n in results if sampler in case.samplers and backend in case.backends
    ]
    own = {change.name for change in CHANGES if sampler in change.samplers}
    changes: Counter[str] = Counter()
    changed = identical = lacking = unknown = undefined = 0
    for case, n in of_sampler:
        result = case.backends[backend]
        identical += n * (result.verdict == "identical")
        required = "unsupported" in case.required[backend]
        lacking += n * (result.verdict == "unsupported" and required)
        unknown += n * (result.verdict == "unsupported" and not required)
        undefined += n * (result.verdict == "rejected" and case.met(backend))
        needed = own.intersection(result.changes or [])
        changed += n * bool(needed)
        changes.update(dict.fromkeys(needed, n))
    return model.DriftCell(
        cases=sum(n for _, n in of_sampler),
        identical=identical,
        lacking=lacking,
        unknown=unknown,
        undefined=undefined,
        changed=changed,
        changes=dict(sorted(changes.items())),
        by_neighbours=bool(identical and between(release, [sampler])),
    )


def _verdict(cells: list[model.DriftCell], columns: list[model.DriftColumn]) -> str:
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


def _change(bundle: Bundle, change: ChangeResult) -> model.MeaningChange:
    command = ""
    if change.case:
        backend = bundle.info.backends[change.backend].model_copy(update={"reference": NEWEST})
        info = bundle.info.model_copy(update={"backends": {change.backend: backend}})
        command = replay(info, change.suite, change.case, [change.backend])
    shown = ChangeResult.model_validate(visible(change.model_dump()))
    return model.MeaningChange(
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
