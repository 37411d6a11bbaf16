"""Chains of a suite that draw before their last stage."""

from collections.abc import Iterator, Sequence

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reference.registry import SELECTING


def misplaced(names: Sequence[str]) -> str:
    """Return which samplers stand behind the draw, and what to do; "" if none does."""
    at = max((i for i, name in enumerate(names) if name in SELECTING), default=len(names))
    later = ", ".join(names[at + 1 :])
    return (
        f"{later} behind {names[at]} has no part in the draw: put {names[at]} last" if later else ""
    )


def notes(bundle: Bundle) -> Iterator[str]:
    """Yield a line for each kind of chain, of a suite given as a file, that draws too early."""
    cases: dict[str, list[str]] = {}
    for case in bundle.cases:
        if case.suite in bundle.info.paths and (mistake := misplaced(case.samplers)):
            cases.setdefault(mistake, []).append(case.id)
    for mistake, ids in cases.items():
        more = f" and {len(ids) - 1:,} more" if len(ids) > 1 else ""
        yield f"note     {ids[0]}{more}: {mistake}"
