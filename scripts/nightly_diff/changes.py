"""The bundles of two nights, and the changes from one to the next.

A bundle is paired with that of the same place in its folder, a backend with the one of the same
name in it, a case with the same id of a suite whose file is the same. Unlike `compare`, which sets
configurations of one night side by side, nothing here is compared with another backend.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.verdicts import ORDER as VERDICTS

Kind = Literal["gone", "worse", "changed", "fixed", "new", "version"]
ORDER: tuple[Kind, ...] = get_args(Kind)
WORSE: tuple[Kind, ...] = ("gone", "worse")
# Verdicts at which a backend agrees with the reference.
_SAME = VERDICTS[: VERDICTS.index("diverged")]


@dataclass(frozen=True)
class NightlyChange:
    """Hold a change. subject: a bundle, a backend or a case. finding: whether its suite records
    findings."""

    kind: Kind
    bundle: str
    backend: str
    subject: str
    before: str
    after: str
    finding: bool = False


@dataclass(frozen=True)
class CaseState:
    """Hold the result of a case or a distribution test. met: whether it is as required."""

    verdict: str
    met: bool
    suite: str
    digest: str


def read_night(folder: Path) -> dict[str, Bundle]:
    """Read the bundles by place below the folder. Raises InputError for none, and for one that
    is not finished."""
    places = sorted(path.parent for path in folder.rglob("run.json"))
    if not places:
        raise InputError(folder, "has no bundle", "name a folder of bundles")
    return {place.relative_to(folder).as_posix(): read_finished(place) for place in places}


def changes(before: dict[str, Bundle], after: dict[str, Bundle]) -> list[NightlyChange]:
    """Return all changes; what got worse comes first."""
    lost, added = before.keys() - after.keys(), after.keys() - before.keys()
    lines = [NightlyChange("gone", name, "", "bundle", "there", "not there") for name in lost]
    lines += [NightlyChange("new", name, "", "bundle", "not there", "there") for name in added]
    for name in before.keys() & after.keys():
        lines += _of_bundle(name, before[name], after[name])
    return sorted(lines, key=_place)


def _place(one: NightlyChange) -> tuple[int, bool, str, str, str]:
    return ORDER.index(one.kind), not one.finding, one.bundle, one.backend, one.subject


def _of_bundle(name: str, before: Bundle, after: Bundle) -> Iterator[NightlyChange]:
    old, new = _ran(before), _ran(after)
    for backend in sorted(old.keys() - new.keys()):
        info = after.info.backends.get(backend)
        why = info.unavailable if info else "not asked"
        yield NightlyChange("gone", name, backend, "backend", old[backend], why)
    for backend in sorted(new.keys() - old.keys()):
        yield NightlyChange("new", name, backend, "backend", "not there", new[backend])
    for backend in sorted(old.keys() & new.keys()):
        if old[backend] != new[backend]:
            yield NightlyChange("version", name, backend, "version", old[backend], new[backend])
        yield from _of_backend(name, backend, _states(before, backend), _states(after, backend))


def _ran(bundle: Bundle) -> dict[str, str]:
    """Return the backends that ran, with version and build."""
    infos = bundle.info.backends.items()
    return {
        name: " ".join(filter(None, [info.version, info.build]))
        for name, info in infos
        if not info.unavailable
    }


def _states(bundle: Bundle, backend: str) -> dict[str, CaseState]:
    digests, decided = bundle.info.suites, decisions(bundle.of(DistributionResult))
    states = {
        case.id: CaseState(case.backends[backend].verdict, case.met(backend), case.suite,
                       digests.get(case.suite, ""))
        for case in bundle.cases
        if backend in case.backends
    }  # fmt: skip
    for cell in bundle.of(DistributionResult):
        if backend in cell.backends:
            decision, _ = decided[cell.id, backend]
            met = decision in cell.required[backend]
            state = CaseState(decision, met, cell.suite, digests.get(cell.suite, ""))
            states[f"{cell.suite} {cell.id}"] = state
    return states


def _of_backend(
    bundle: str, backend: str, before: dict[str, CaseState], after: dict[str, CaseState]
) -> Iterator[NightlyChange]:
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        if old.digest != new.digest or (old.verdict, old.met) == (new.verdict, new.met):
            continue
        finding = old.suite.endswith("/findings")
        kind = _kind(old, new, finding)
        yield NightlyChange(
            kind, bundle, backend, name, _verdict_of(old), _verdict_of(new), finding
        )
    lost = Counter(before[name].suite for name in before.keys() - after.keys())
    for suite, number in sorted(lost.items()):
        yield NightlyChange(
            "gone", bundle, backend, f"cases of {suite}", f"{number:,}", "not there"
        )


def _kind(old: CaseState, new: CaseState, finding: bool) -> Kind:
    """Classify a change. A finding is fixed where a backend no longer behaves as recorded, or no
    longer differs from the reference."""
    if "skipped" in (old.verdict, new.verdict):
        return "new" if old.verdict == "skipped" else "gone"
    if finding and old.met and not new.met and new.verdict not in ("crashed", "timeout"):
        return "fixed"
    if old.verdict not in _SAME and new.verdict in _SAME:
        return "fixed"
    if old.met and not new.met:
        return "worse"
    return "fixed" if new.met and not old.met else "changed"


def _verdict_of(state: CaseState) -> str:
    return state.verdict if state.met else f"{state.verdict}, not as required"
