"""The verdicts, best first. docs/reference/verdicts.md defines each.

`skipped` stands apart: the case was not run, because the backend claims no such sampler or request.
It is neither met nor failed, and has its own count.
"""

from collections.abc import Sequence
from typing import Literal, get_args

Verdict = Literal[
    "identical",
    "reordered",
    "tied",
    "undefined",
    "correct",
    "close",
    "boundary",
    "explained",
    "diverged",
    "flaky",
    "misused",
    "skipped",
    "unsupported",
    "rejected",
    "crashed",
    "timeout",
]
Accept = Literal["identical", "tied", "correct", "close"]

ORDER: tuple[Verdict, ...] = get_args(Verdict)
BY_ANY_SORT: tuple[Verdict, ...] = ("identical", "reordered", "tied")  # as right as the reference
RIGHT: tuple[Verdict, ...] = (*BY_ANY_SORT, "undefined", "correct")


def worst(verdicts: list[Verdict]) -> Verdict:
    return max(verdicts, key=ORDER.index, default="identical")


def passing(required: Sequence[Verdict], accept: Accept) -> list[Verdict]:
    """Return the verdicts that pass if a case requires these.

    accept: `identical` adds nothing, `tied` all that is no worse than a tie. `correct` adds what
    some correctly rounded evaluation gives and what no specification defines, `close` all that is
    no worse than rounding.

    A case that requires another behaviour of a backend (diverged, unsupported) passes with that
    alone.
    """
    as_the_reference = set(ORDER[: ORDER.index("close") + 1])
    if accept == "identical" or as_the_reference.isdisjoint(required):
        return list(required)
    better = ORDER[: ORDER.index(accept) + 1]
    return [verdict for verdict in ORDER if verdict in required or verdict in better]


# How a server treats a parameter, best first; `skipped` stands apart.
ServerVerdict = Literal[
    "honoured", "documented change", "refused", "clamped", "undocumented",
    "other meaning", "ignored", "silently ignored", "error", "skipped",
]  # fmt: skip
