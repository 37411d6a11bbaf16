"""Mistakes in the order of a chain, which the result of no single stage shows.

A chain is a list of (name, arguments). An argument that is not there leaves a stage on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sampler_parity.reference.registry import SELECTING

WITH_HISTORY = frozenset({"penalties", "dry", "grammar", "grammar_lazy_patterns", "adaptive_p"})
Arguments = Mapping[str, Any]
StageSpec = tuple[str, Arguments]

# Whether arguments turn a sampler off: it leaves its candidates as they are.
_OFF: dict[str, Callable[[Arguments], bool]] = {
    "top_k": lambda a: a["k"] <= 0,
    "top_p": lambda a: a["p"] >= 1,
    "min_p": lambda a: a["p"] <= 0,
    "typical_p": lambda a: a["p"] >= 1,
    "temp": lambda a: a["temp"] == 1,
    "temp_ext": lambda a: a["temp"] == 1 and a["delta"] <= 0,
    "xtc": lambda a: a["p"] <= 0 or a["t"] > 0.5,
    "top_n_sigma": lambda a: a["n"] <= 0,
    "logit_bias": lambda a: not a["logit_bias"],
    "grammar": lambda a: a["grammar_str"] == "",
    "dry": lambda a: a["dry_multiplier"] == 0 or a["dry_penalty_last_n"] == 0,
    "penalties": lambda a: a["penalty_last_n"] == 0 or (
        a["penalty_repeat"] == 1 and a["penalty_freq"] == 0 and a["penalty_present"] == 0
    ),
}  # fmt: skip
_LEAVES_ONE: dict[str, Callable[[Arguments], bool]] = {
    "top_k": lambda a: a["k"] == 1,
    "temp": lambda a: a["temp"] <= 0,
    "temp_ext": lambda a: a["temp"] <= 0,
}


_ACTING = SELECTING | WITH_HISTORY | _OFF.keys() | {"infill", "softmax", "tail_free"}


def is_off(name: str, arguments: Arguments) -> bool:
    """Return whether a sampler leaves its candidates as they are, by its arguments."""
    return _holds(_OFF, name, arguments)


def behind_the_draw(chain: Sequence[StageSpec]) -> tuple[int, list[int]] | None:
    """Return the position of the stage that selects and those of the stages behind it, which have
    no part in the draw; None if there are none. A sampler without a model may only look."""
    at = max((i for i, (name, _) in enumerate(chain) if name in SELECTING), default=len(chain))
    behind = [
        i for i in range(at + 1, len(chain)) if chain[i][0] in _ACTING and not is_off(*chain[i])
    ]
    return (at, behind) if behind else None


def without_effect(chain: Sequence[StageSpec]) -> Iterator[tuple[int, int]]:
    """Yield the positions of a stage that leaves a single token, and of a later one that is on: it
    has nothing left to choose from."""
    singles = [i for i, stage in enumerate(chain) if _holds(_LEAVES_ONE, *stage)]
    for i, (name, arguments) in enumerate(chain):
        if singles and i > singles[0] and name in _OFF and not is_off(name, arguments):
            yield singles[0], i


def _holds(table: Mapping[str, Callable[[Arguments], bool]], name: str, args: Arguments) -> bool:
    try:
        return name in table and table[name](args)
    except (KeyError, TypeError):
        return False
