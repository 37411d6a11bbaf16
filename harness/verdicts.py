"""The verdicts, best first. docs/verdicts.md says what each means."""

from typing import Literal, get_args

Verdict = Literal[
    "identical",
    "reordered",
    "close",
    "boundary",
    "explained",
    "diverged",
    "flaky",
    "unsupported",
    "rejected",
    "crashed",
    "timeout",
]

ORDER: tuple[Verdict, ...] = get_args(Verdict)


def worst(verdicts: list[Verdict]) -> Verdict:
    return max(verdicts, key=ORDER.index, default="identical")
