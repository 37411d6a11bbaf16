"""Answer "what changes for me?" from the cases of an upgrade: five lines, and the data."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.strict import Strict
from sampler_parity.programs.upgrade.cases import is_seeded
from sampler_parity.programs.upgrade.compare import Shift, compare

ROUNDING = 1e-5  # total variation: sums of float32 in another order stay below it
_LONGEST = 120  # characters of a value or message


class UpgradeAnswer(Strict):
    """The changes for a chain. refused: cases that both versions refused. cases: the others.
    shifts: all that differ. first: one at the earliest stage. distribution_changed: beyond
    rounding. left_out: settings without effect, or not read. mapping: how the chains that both make
    of the settings differ. between: the newest version known to be as
    the old one, and the oldest known to differ."""

    schema_version: Literal[1] = 1
    old: str
    new: str
    changed: bool
    cases: int
    refused: int
    first: Shift | None
    stages: dict[str, int]
    seeded: bool
    other_texts: int
    distance: float
    distribution_changed: bool
    shifts: list[Shift]
    left_out: list[str] = []
    mapping: list[str] = []
    between: list[str] = []
    show: str = ""


def answer(
    cases: Sequence[StagesCase], later: Sequence[StagesCase], old: Backend, new: Backend
) -> UpgradeAnswer:
    """Ask both versions all cases. later: the same with the chain of the new version. Raises
    InputError if both refuse each."""
    compared = [compare(a, old, new, b) for a, b in zip(cases, later, strict=True)]
    refused = [outcome for outcome in compared if isinstance(outcome, str)]
    shifts = [outcome for outcome in compared if isinstance(outcome, Shift)]
    if len(refused) == len(cases):
        raise InputError(f"{old.name} and {new.name}", f"both refuse every case: {refused[0]}")
    # a person sees other values before the flag `sorted`
    shifts.sort(key=lambda shift: (shift.stage, shift.what == "sorted", shift.step))
    distance = max((shift.distance for shift in shifts), default=0.0)
    return UpgradeAnswer(
        old=old.name,
        new=new.name,
        changed=bool(shifts),
        cases=len(cases) - len(refused),
        refused=len(refused),
        first=shifts[0] if shifts else None,
        stages=dict(Counter(shift.sampler for shift in shifts)),
        seeded=is_seeded(cases[0].chain),
        other_texts=sum(shift.text for shift in shifts),
        distance=distance,
        distribution_changed=distance > ROUNDING,
        shifts=shifts,
    )


def lines(upgrade: UpgradeAnswer) -> Iterator[str]:
    """Yield the answer for a person: five lines, and those about the settings."""
    yield from _about_cases(upgrade)
    yield from [f"mapping  {'; '.join(upgrade.mapping)}"] if upgrade.mapping else []
    yield from upgrade.left_out


def _about_cases(upgrade: UpgradeAnswer) -> Iterator[str]:
    first = upgrade.first
    refused = f", {upgrade.refused:,} refused by both" if upgrade.refused else ""
    if first is None:
        read = " change in what was read" if upgrade.left_out else ""
        yield f"change   no{read}: {upgrade.cases:,} cases are identical, to the bit{refused}"
        return
    after = " after {} and by {}".format(*upgrade.between) if upgrade.between else ""
    yield f"change   yes{after}: {len(upgrade.shifts):,} of {upgrade.cases:,} cases differ{refused}"
    values = " -> ".join(one_line(side, _LONGEST) for side in (first.old, first.new))
    further = ", ".join(name for name in upgrade.stages if name != first.sampler)
    also = f"; in other cases {further}" if further else ""
    yield f"first    stage {first.stage + 1}, {first.sampler}: {first.what} {values}{also}"
    unchanged = "a seed keeps its text" if upgrade.seeded else "the tokens stay"
    moved = f"{'a seed draws ' * upgrade.seeded}another text in {upgrade.other_texts:,} cases"
    yield f"seed     {moved if upgrade.other_texts else unchanged}"
    moved = f"changes, by a total variation of up to {upgrade.distance:.2g}"
    yield f"chance   {moved if upgrade.distribution_changed else 'the distributions stay'}"
    yield from [f"show     {upgrade.show}"] if upgrade.show else []
