"""Groups of several backends with one cause as one finding; backends that agree with each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.failures.groups import FOLDED, Group
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.labels import several
from sampler_parity.reports.pages.parity.model import Agreement

AS_IF = "; as if: "
_NAMED = 6  # backends that a sentence names
_DIFFERENT = ("diverged", "explained", "boundary", "close", "tied", "reordered")


@dataclass(frozen=True)
class MergedFinding:
    """One cause on one or more backends. groups: one for each backend, the worst first."""

    groups: Sequence[Group]

    @property
    def shown(self) -> Group:
        """Return the group whose example is shown: a known fault or a minimized input first."""
        return max(self.groups, key=lambda group: (bool(group.known), bool(group.example.small)))

    @property
    def backends(self) -> list[str]:
        return [group.backend for group in self.groups]

    @property
    def anchor(self) -> str:
        """Return an anchor that does not depend on how many cases each backend fails."""
        return min(group.anchor for group in self.groups)

    @property
    def text(self) -> str:
        """Return the sentence. Backends may differ in the number of cases and in known faults."""
        return "".join(self._parts())

    @property
    def sentence(self) -> str:
        """Return the sentence with its backends; several stand before the planted fault."""
        words, fault = self._parts()
        on = f", on {named(self.backends)}"
        return words + (on + fault if len(self.groups) > 1 else fault + on)

    def _parts(self) -> tuple[str, str]:
        """Return the sentence and, after it, the planted fault that does the same, or ""."""
        counts = sorted({len(group.cases) for group in self.groups})
        most = max(self.groups, key=lambda group: len(group.cases))
        words = most.text.partition(AS_IF)[0]
        if len(counts) > 1:
            words = f"{counts[0]:,} to {counts[-1]:,} {words.partition(' ')[2]}"
        known = [group.backend for group in self.groups if group.known]
        of = f" (on {named(known)})" if 0 < len(known) < len(self.groups) else ""
        fault = self.shown.text.partition(AS_IF)[2]
        return words, f"{AS_IF.replace(':', f'{of}:')}{fault}" if fault else ""


def named(backends: Sequence[str]) -> str:
    """Return "a, b and c", or "a, b, c, d, e, f and 3 more"."""
    shown = [*backends[:_NAMED]]
    if len(backends) > _NAMED:
        shown.append(f"{len(backends) - _NAMED:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def merged(groups: Iterable[Group]) -> list[MergedFinding]:
    """Return a finding for each cause, in the order of the groups. A backend is in it once."""
    found: list[list[Group]] = []
    by_kind: dict[tuple[Verdict, str, str], list[list[Group]]] = defaultdict(list)
    for group in groups:
        alike = by_kind[group.verdict, group.stage, group.what]
        same = next((members for members in alike if _joins(group, members)), None)
        if same is None:
            same = []
            found.append(same)
            alike.append(same)
        same.append(group)
    return [MergedFinding(members) for members in found]


def _joins(group: Group, members: list[Group]) -> bool:
    return all(group.backend != m.backend and _same_cause(group, m) for m in members)


def _same_cause(a: Group, b: Group) -> bool:
    """Return whether the same planted faults explain both; without one of them, the same words."""
    if a.known and b.known:
        return {fault.name for fault in a.known} == {fault.name for fault in b.known}
    return _words(a) == _words(b)


def _words(group: Group) -> str:
    """Return the text without the number of cases and without the faults that do the same."""
    return group.text.partition(AS_IF)[0].partition(":")[2]


def agreements(cases: Iterable[CaseResult]) -> list[Agreement]:
    """Return the sets of backends that give one answer, which is not the reference's.

    A case counts where two backends or more answered it, all of them failed, and all have the same
    first difference: step, stage and values.
    """
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for case in where(cases, lambda case: bool(_agreeing(case))):
        found[_agreeing(case)].append(case.id)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))
    return [Agreement(backends=[*names], cases=ids) for names, ids in ranked]


def _agreeing(case: CaseResult) -> tuple[str, ...]:
    answers = {
        name: result for name, result in case.backends.items() if result.verdict not in FOLDED
    }
    one = len(answers) > 1 and all(map(case.failed, answers)) and _one(list(answers.values()))
    return tuple(answers) if one else ()


def _one(results: list[BackendResult]) -> bool:
    first = results[0]
    return first.verdict in _DIFFERENT and all(_place(first) == _place(r) for r in results)


def _place(result: BackendResult) -> tuple[object, ...]:
    return result.verdict, result.step, result.stage, result.what, result.values, result.row


def agreement_lines(agreeing: Iterable[Agreement]) -> Iterator[str]:
    """Yield a sentence for each set of backends."""
    for same in agreeing:
        yield (
            f"{len(same.backends)} backends agree with each other and not with the reference in "
            f"{several(len(same.cases), 'case')}: {named(same.backends)}. At the first difference "
            "they have the same values."
        )
