"""A difference in words: where it is, what differs, by how much."""

from typing import Any

from sampler_parity.reports.pages.parity.model import Difference
from sampler_parity.reports.render.words import number


def place(difference: Difference) -> str:
    """Where the first difference is, counted from 1: "stage 3 of 5 (top_p), step 1 of 2"."""
    parts = []
    index, stages = difference.stage_index, len(difference.samplers)
    if index is not None and index < stages and difference.stage not in ("chain", "token"):
        parts.append(f"stage {index + 1} of {stages} ({difference.stage})")
    elif difference.stage:
        parts.append({"chain": "the whole chain"}.get(difference.stage, difference.stage))
    if difference.step is not None:
        unit, total = ("draw", difference.draws) if difference.draws else ("step", difference.steps)
        parts.append(f"{unit} {difference.step + 1:,} of {total:,}")
    return ", ".join(parts)


def side_by_side(difference: Difference) -> list[tuple[str, str, str]]:
    """(what, got, expected) of everything that was compared."""
    values = dict(difference.values)
    rows = []
    survivors = values.pop("survivors", None)
    if isinstance(survivors, dict):
        rows.append(("survivors", *_pair(survivors)))
    if "got" in values or "expected" in values:
        label = {"selected": "selected token", "token": "selected token", "ids": "id"}.get(
            difference.what, difference.what or "value"
        )
        if "rank" in values:
            label += f" at rank {number(values['rank'])}"
        if "id" in values and difference.what != "ids":
            label += f" (id {number(values['id'])})"
        rows.append((label, *_pair(values)))
    return rows


def other_values(difference: Difference) -> list[tuple[str, str]]:
    """What a backend result says beyond got and expected: margin, differing, ..."""
    shown = {"survivors", "got", "expected", "rank", "id"}
    return [(key, number(item)) for key, item in difference.values.items() if key not in shown]


def _pair(values: dict[str, Any]) -> tuple[str, str]:
    return (
        number(values["got"]) if "got" in values else "",
        number(values["expected"]) if "expected" in values else "",
    )
