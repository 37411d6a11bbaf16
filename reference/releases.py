"""What samplers meant in other releases of llama.cpp.

`CHANGES` holds every change of meaning from b3889 to b11549, with the newest release seen without
it and the oldest seen with it. `build_chain(spec, release="b4753")` builds a chain with the
meanings of a release. What the samplers of v0.5.0 mean is in reference/samplers; what older ones
did otherwise, in reference/older: a sibling each, named by the last release that it stands for.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from sampler_parity.reference.chronology import OLDEST, check_known, order
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.older.dist_b9842 import DistB9842
from sampler_parity.reference.older.dry_b9842 import DryB9842
from sampler_parity.reference.older.infill_b6673 import InfillB6673
from sampler_parity.reference.older.min_p_b6133 import MinPB6133
from sampler_parity.reference.older.mirostat_b9842 import MirostatB9842, MirostatV2B6133
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
    "mirostat": MirostatB9842,
    "mirostat_v2": MirostatV2B6133,
    "penalties": PenaltiesB9842,
    "dry": DryB9842,
    "infill": InfillB6673,
}

_SORTING = (
    *("dist", "top_p", "min_p", "typical_p", "temp_ext", "xtc", "top_n_sigma"),
    *("mirostat", "mirostat_v2", "infill"),
)


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
        """Whether a release has the old meaning; None between the last seen with it and the first
        seen without. Raises ChainError for what is no release."""
        at = order(release)
        if order(self.last_old) < at < order(self.first_new):
            return None
        return order(self.first_old) <= at <= order(self.last_old)


CHANGES: tuple[Change, ...] = (
    Change(
        "dist-no-softmax",
        ("dist",),
        last_old="b3889",
        first_new="b3995",
        old="draws by p as an earlier stage left it, and by none if no stage wrote p",
        new="computes p itself",
    ),
    Change(
        "dist-sorts",
        ("dist",),
        first_old="b3995",
        last_old="b6301",
        first_new="b6431",
        old="sorts the candidates before it draws",
        new="draws from the candidates as they stand",
    ),
    Change(
        "dist-discrete",
        ("dist",),
        last_old="b6301",
        first_new="b6431",
        old="p is normalized in float32 and std::discrete_distribution draws",
        new="one uniform double against the running sum of p in double",
    ),
    Change(
        "dist-one-no-draw",
        ("dist",),
        last_old="b10068",
        first_new="b10361",
        old="a single candidate uses up no random number",
        new="a single candidate uses up a random number as any draw",
    ),
    Change(
        "std-sort",
        _SORTING,
        last_old="b6301",
        first_new="b6431",
        old="all candidates are sorted by std::sort",
        new="by std::partial_sort up to 128 candidates, above by the bucket sort: other ties",
    ),
    Change(
        "top-k-0-sorts",
        ("top_k",),
        last_old="b4980",
        first_new="b5590",
        old="k <= 0 keeps all candidates, sorted",
        new="k <= 0 does nothing",
    ),
    Change(
        "top-p-sorts-first",
        ("top_p",),
        last_old="b6301",
        first_new="b6431",
        old="sorts, then sums p in sorted order",
        new="sums p as the candidates stand, then sorts as many as it needs",
    ),
    Change(
        "min-p-keeps-none",
        ("min_p",),
        last_old="b4980",
        first_new="b5590",
        old="min_keep 0 keeps no unsorted candidate if none passes (p > 1)",
        new="keeps at least one",
    ),
    Change(
        "typical-p-0-keeps-all",
        ("typical_p",),
        last_old="b4980",
        first_new="b5590",
        old="min_keep 0 wraps around to the largest size: all candidates stay, reordered",
        new="min_keep 0 sets no minimum",
    ),
    Change(
        "temp-0-divides",
        ("temp", "temp_ext"),
        last_old="b3889",
        first_new="b3995",
        old="divides by temp <= 0 too: infinities, NaN, or the order turned around",
        new="temp <= 0 keeps the largest logit and masks the others",
    ),
    Change(
        "top-n-sigma-never-off",
        ("top_n_sigma",),
        first_old="b4753",
        last_old="b4980",
        first_new="b5590",
        old="n <= 0 masks all but the largest logit, or all; a single candidate is not passed over",
        new="n <= 0 or a single candidate: nothing is done",
    ),
    Change(
        "top-n-sigma-counts-inf",
        ("top_n_sigma",),
        first_old="b4753",
        last_old="b4980",
        first_new="b5590",
        old="a logit of -inf counts in mean and deviation, which then mask nothing",
        new="logits of -inf are left out",
    ),
    Change(
        "top-n-sigma-softmax",
        ("top_n_sigma",),
        first_old="b4753",
        last_old="b8390",
        first_new="b9842",
        old="sorts the candidates and writes p",
        new="leaves order and p as they are",
    ),
    Change(
        "mirostat-clone-anew",
        ("mirostat",),
        last_old="b10068",
        first_new="b10361",
        old="a clone starts with the first mu and its seed's stream",
        new="a clone goes on with mu and the stream",
    ),
    Change(
        "penalties-clone-uncounted",
        ("penalties",),
        first_old="b4435",
        last_old="b10068",
        first_new="b10361",
        old="a clone has the window but no counts: they start at 0 and fall below as tokens leave",
        new="a clone has the counts too",
    ),
    Change(
        "dry-context",
        ("dry",),
        first_old="b3995",
        last_old="b10068",
        first_new="b10361",
        old="dry_penalty_last_n -1 searches the context of the model, and none may exceed it",
        new="dry_penalty_last_n -1 disables",
    ),
    Change(
        "dry-broken-character",
        ("dry",),
        first_old="b3995",
        last_old="b4600",
        first_new="b4753",
        old="ends the process where a token ends within a character of a breaker (byte-level BPE)",
        new="tokenizes what is left of the character",
    ),
    Change(
        "dry-no-clone",
        ("dry",),
        first_old="b3995",
        last_old="b3995",
        first_new="b4291",
        old="a clone ends the process",
        new="can be cloned",
    ),
    Change(
        "infill-no-eos",
        ("infill",),
        first_old="b3995",
        last_old="b6673",
        first_new="b6845",
        old="without an EOT token all becomes the token -1",
        new="without an EOT token all becomes one EOS token",
    ),
)


def changes_of(release: str, samplers: Collection[str] | None = None) -> tuple[Change, ...]:
    """The changes that were not yet made in a release: the old meanings in force there.

    samplers: only changes that touch these. Raises ChainError where a meaning in the release is not
    known: before b3889, after b11549, and of a sampler between the last release seen with an old
    meaning and the first seen with the new one.
    """
    check_known(release)
    about = [c for c in CHANGES if samplers is None or not set(samplers).isdisjoint(c.samplers)]
    for change in about:
        if change.in_force(release) is None:
            old, new = change.last_old, change.first_new
            raise ChainError(
                f"release {release}: whether it has {change.name} is not known, which came after"
                f" {old} and by {new}; judge it by either: --reference {old}, --reference {new}"
            )
    return tuple(change for change in about if change.in_force(release))


def between(release: str, samplers: Collection[str]) -> tuple[Change, ...]:
    """The changes of these samplers of which nobody knows whether a release has them: it lies
    between the newest seen without and the oldest seen with each. Raises ChainError for what is no
    release."""
    about = (change for change in CHANGES if not set(samplers).isdisjoint(change.samplers))
    return tuple(change for change in about if change.in_force(release) is None)


def samplers_of(
    changes: Collection[Change] | Collection[str],
    newest: Mapping[str, Callable[..., Sampler]] = REFERENCE_SAMPLERS,
) -> Mapping[str, Callable[..., Sampler]]:
    """Put the old meanings that these changes took away, any set of them, into the newest samplers.

    Raises ChainError for a name that is no change.
    """
    names = {change if isinstance(change, str) else change.name for change in changes}
    known = {change.name: change for change in CHANGES}
    if unknown := sorted(names - set(known)):
        raise ChainError(f"unknown change {unknown[0]!r}; known: {', '.join(known)}")
    older_ones: dict[str, Callable[..., Sampler]] = {}
    for sampler, older in _OLDER.items():
        old = frozenset(name for name in names if sampler in known[name].samplers)
        if old:
            older_ones[sampler] = partial(older, old)
    return ChainMap(older_ones, cast(dict[str, Callable[..., Sampler]], newest))
