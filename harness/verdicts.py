"""The verdicts, best first. docs/reference/verdicts.md says what each means.

`skipped` stands apart: the case was not asked, for the backend claims no such sampler or request.
It is neither met nor failed, and counted for itself.
"""

from collections.abc import Sequence
from typing import Literal, get_args

Verdict = Literal[
    "identical",
    "reordered",
    "tied",
    "close",
    "boundary",
    "explained",
    "diverged",
    "flaky",
    "skipped",
    "unsupported",
    "rejected",
    "crashed",
    "timeout",
]
Accept = Literal["identical", "tied", "close"]

ORDER: tuple[Verdict, ...] = get_args(Verdict)
BY_ANY_SORT: tuple[Verdict, ...] = ("identical", "reordered", "tied")  # as right as the reference


def worst(verdicts: list[Verdict]) -> Verdict:
    return max(verdicts, key=ORDER.index, default="identical")


def passing(required: Sequence[Verdict], accept: Accept) -> list[Verdict]:
    """The verdicts that pass where a case requires these, and so much is accepted: `identical` adds
    nothing, `tied` what is no worse than a tie, `close` what is no worse than rounding.

    A case that requires something else of a backend (diverged, unsupported) means that alone.
    """
    as_the_reference = set(ORDER[: ORDER.index("close") + 1])
    if accept == "identical" or as_the_reference.isdisjoint(required):
        return list(required)
    better = ORDER[: ORDER.index(accept) + 1]
    return [verdict for verdict in ORDER if verdict in required or verdict in better]


# What a server does with a parameter.
ServerVerdict = Literal[
    "honoured",
    "clamped",
    "undocumented",
    "other meaning",
    "ignored",
    "error",
    "skipped",
]  # best first; `skipped` stands apart
