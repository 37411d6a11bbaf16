"""The meanings of samplers in other releases of llama.cpp.

`CHANGES` holds every change of meaning from b3889 to b11549, as changes.toml lists them, with the
newest release observed without it and the oldest observed with it.

`build_chain(spec, release="b4753")` builds a chain with the meanings of a release. The samplers of
v0.5.0 are in reference/samplers. reference/older has a sibling for each older meaning, named after
the last release that has it.
"""

import tomllib
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from sampler_parity.reference.chronology import OLDEST, check_known, order
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.older.dist_b9842 import DistB9842
from sampler_parity.reference.older.dry_b9842 import DryB9842
from sampler_parity.reference.older.infill_b6673 import InfillB6673
from sampler_parity.reference.older.min_p_b6133 import MinPB6133
from sampler_parity.reference.older.mirostat_b9842 import mirostat_b9842, mirostat_v2_b6133
from sampler_parity.reference.older.penalties_b9842 import PenaltiesB9842
from sampler_parity.reference.older.temp_b3889 import TempB3889, TempExtB6133
from sampler_parity.reference.older.top_k_b4980 import TopKB4980
from sampler_parity.reference.older.top_n_sigma_b8352 import TopNSigmaB8352
from sampler_parity.reference.older.top_p_b6133 import TopPB6133
from sampler_parity.reference.older.typical_p_b6133 import TypicalPB6133
from sampler_parity.reference.older.xtc_b6133 import XtcB6133
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.sampler import Sampler

_OLDER: dict[str, Callable[..., Sampler]] = {
    "dist": DistB9842,
    "top_k": TopKB4980,
    "top_p": TopPB6133,
    "min_p": MinPB6133,
    "typical_p": TypicalPB6133,
    "temp": TempB3889,
    "temp_ext": TempExtB6133,
    "xtc": XtcB6133,
    "top_n_sigma": TopNSigmaB8352,
    "mirostat": mirostat_b9842,
    "mirostat_v2": mirostat_v2_b6133,
    "penalties": PenaltiesB9842,
    "dry": DryB9842,
    "infill": InfillB6673,
}


@dataclass(frozen=True)
class Change:
    """A change of meaning. Releases from first_old to last_old have the old meaning."""

    name: str
    samplers: tuple[str, ...]
    last_old: str  # the newest release seen with the old meaning
    first_new: str  # the oldest release seen with the new one
    old: str
    new: str
    first_old: str = OLDEST

    def in_force(self, release: str) -> bool | None:
        """Return whether a release has the old meaning; None if it lies between the two observed.
        Raises ChainError for a text that is no release."""
        at = order(release)
        if order(self.last_old) < at < order(self.first_new):
            return None
        return order(self.first_old) <= at <= order(self.last_old)


def _read() -> tuple[Change, ...]:
    text = Path(__file__).with_name("changes.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)
    return tuple(Change(name, tuple(row.pop("samplers")), **row) for name, row in rows.items())


CHANGES = _read()


def changes_of(release: str, samplers: Collection[str] | None = None) -> tuple[Change, ...]:
    """Return the changes that were not yet made in a release: the old meanings in force there.

    samplers: only changes that touch these. Raises ChainError for a release with unknown meanings:
    before b3889, after b11549, and for a sampler between the last release observed with an old
    meaning and the first observed with the new one.
    """
    check_known(release)
    about = [c for c in CHANGES if samplers is None or not set(samplers).isdisjoint(c.samplers)]
    for change in about:
        if change.in_force(release) is None:
            old, new = change.last_old, change.first_new
            raise ChainError(
                f"release {release}: it is unknown whether it has {change.name}, which came after"
                f" {old} and by {new}. Judge it by either: --reference {old}, --reference {new}"
            )
    return tuple(change for change in about if change.in_force(release))


def between(release: str, samplers: Collection[str]) -> tuple[Change, ...]:
    """Return the changes of these samplers that a release may or may not have.

    It lies between the newest observed without and the oldest observed with each. Raises ChainError
    for a text that is no release.
    """
    about = (change for change in CHANGES if not set(samplers).isdisjoint(change.samplers))
    return tuple(change for change in about if change.in_force(release) is None)


def samplers_of(
    changes: Collection[Change] | Collection[str],
    newest: Mapping[str, Callable[..., Sampler]] = REFERENCE_SAMPLERS,
) -> Mapping[str, Callable[..., Sampler]]:
    """Put the old meanings that these changes took away, any set of them, into the newest samplers.
    Raises ChainError for a name that is no change."""
    names = {change if isinstance(change, str) else change.name for change in changes}
    by_name = {change.name: change for change in CHANGES}
    if unknown := sorted(names - set(by_name)):
        raise ChainError(f"unknown change {unknown[0]!r}; known: {', '.join(by_name)}")
    older_ones: dict[str, Callable[..., Sampler]] = {}
    for sampler, older in _OLDER.items():
        old = frozenset(name for name in names if sampler in by_name[name].samplers)
        if old:
            older_ones[sampler] = partial(older, old)
    return ChainMap(older_ones, cast(dict[str, Callable[..., Sampler]], newest))
