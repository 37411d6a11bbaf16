"""Scripts of sequences that join, leave and are copied."""

from typing import Any


def step(batch: list[int], *before: tuple[Any, ...]) -> dict[str, Any]:
    """Return a step. before: what, the slot, a text or another slot. It samples the last row."""
    named = {"join": ("do", "slot", "text"), "copy": ("do", "slot", "other")}
    changes = [dict(zip(named.get(c[0], ("do", "slot")), c, strict=True)) for c in before]
    return {"before": changes, "batch": batch, "sample": batch[::-1]}


COMING_AND_GOING = [
    step([1, 0], ("join", 0, 0), ("join", 1, 1)),
    *[step([0, 1])] * 3,
    step([2, 1, 0], ("copy", 2, 1)),
    step([2, 1, 0, 3], ("join", 3, 3), ("reset", 1)),
    *[step([3, 1, 2, 0])] * 4,
    step([3, 2, 1], ("leave", 0)),
    step([0, 3, 2], ("join", 0, 2)),
    step([1, 3, 0], ("leave", 2)),
    step([0, 1, 2, 3], ("copy", 2, 3)),
    *[step([2, 3, 1])] * 4,
]
