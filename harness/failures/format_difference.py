"""Format a difference: where it is, what differs. Format a group of them as lines of plain text."""

import json
from collections.abc import Iterator
from typing import Any, Protocol

from sampler_parity.harness.bundle.records import LiveRow
from sampler_parity.harness.failures.groups import FailureExample, Group, Small
from sampler_parity.harness.sanitize.printable import one_line

LONGEST_MESSAGE = 120  # characters of a message: left out if the text of the group has them
_HISTORIES = ("prompt", "output")
_LONGEST_ROW = 24  # logits that are shown of a row: a minimized case has no more


class Placed(Protocol):
    """The known facts of a first difference."""

    @property
    def samplers(self) -> list[str]: ...
    @property
    def step(self) -> int | None: ...
    @property
    def steps(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def stage(self) -> str: ...
    @property
    def stage_index(self) -> int | None: ...
    @property
    def what(self) -> str: ...
    @property
    def values(self) -> dict[str, Any]: ...
    @property
    def row(self) -> LiveRow | None: ...


def place(at: Placed) -> str:
    """Return where the first difference is, counted from 1: "stage 3 of 5 (top_p), step 1 of 2"; in
    a batch "step 3 of 8, row 5 of 17, stage top_p"."""
    if at.row is not None and at.step is not None:
        of_row = f"step {at.step + 1:,} of {at.steps:,}, {row_of(at.row)}"
        return f"{of_row}, {stage_of_row(at.stage)}"
    parts = []
    index, stages = at.stage_index, len(at.samplers)
    if index is not None and index < stages and at.stage not in ("chain", "token"):
        parts.append(f"stage {index + 1} of {stages} ({at.stage})")
    elif at.stage:
        parts.append({"chain": "the whole chain"}.get(at.stage, at.stage))
    if at.step is not None:
        unit, total = ("draw", at.draws) if at.draws else ("step", at.steps)
        parts.append(f"{unit} {at.step + 1:,} of {total:,}")
    return ", ".join(parts)


def row_of(row: LiveRow) -> str:
    return f"row {row.at + 1} of {row.of}"


def stage_of_row(stage: str) -> str:
    return stage if stage in ("token", "relation") else f"stage {stage}"


def side_by_side(at: Placed) -> list[tuple[str, str, str]]:
    """Return (what, got, expected) of everything that differs."""
    values = dict(at.values)
    rows = []
    survivors = values.pop("survivors", None)
    if isinstance(survivors, dict):
        rows.append(("survivors", *_pair(survivors)))
    if "got" in values and "expected" in values:
        label = {"selected": "selected token", "token": "selected token", "ids": "id"}.get(
            at.what, at.what or "value"
        )
        if "rank" in values:
            label += f" at rank {number(values['rank'])}"
        if "id" in values and at.what != "ids":
            label += f" (id {number(values['id'])})"
        rows.append((label, *_pair(values)))
    return [row for row in rows if row[1] != row[2]]


def other_values(at: Placed) -> list[tuple[str, str]]:
    """Return the values of a result besides got and expected: margin, differing, ..."""
    keys = {"survivors", "got", "expected", "rank", "id", "others", "unlike"}
    keys |= {"mass", "threshold", "least", "most", "low", "high"} if "rule" in at.values else set()
    formats = {"margin": margin}
    return [
        (key, formats.get(key, number)(item)) for key, item in at.values.items() if key not in keys
    ]


def margin(share: Any) -> str:
    """Return how far the decisive number of a boundary lies from the cut."""
    if not isinstance(share, int | float):
        return number(share)
    return f"{share:.2g} of the cut" if share else "none: exactly at the cut"


def number(value: Any) -> str:
    """Format a value as it is compared: nine digits distinguish all float32."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.9g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _pair(values: dict[str, Any]) -> tuple[str, str]:
    return number(values.get("got")), number(values.get("expected"))


def lines(group: Group, backend: str) -> Iterator[str]:
    """Yield the lines of a group: what differs, the smallest input that shows it, planted faults
    that do the same, and a case. backend: with its version."""
    example = group.example
    at = place(example)
    yield one_line(group.text)
    if example.small is not None:
        yield f"  smallest input: {one_line(in_one_line(example.small.case), 400)}"
    yield from (f"  {line}" for line in differing_lines(example.shown))
    yield from (f"  {line}" for line in known_lines(group))
    yield f"  {group.verdict.upper()} {one_line(example.case)}   {backend}{', ' if at else ''}{at}"
    first, *printed = example.detail.splitlines() or [""]
    if first and one_line(first, LONGEST_MESSAGE) not in group.text:
        yield f"  {one_line(first)}"
    yield from (f"  | {one_line(line)}" for line in printed)
    if example.said:
        yield f"  {one_line(example.said)}"
    if example.why:
        yield f"  case tests: {one_line(example.why)}"
    yield f"  required: {' or '.join(example.required)}"
    if example.replay:
        yield f"  replay: {example.replay}"


def differing_lines(at: FailureExample | Small) -> Iterator[str]:
    """Yield both sides of what differs; the ids that are left if they are few; the row of a
    batch."""
    if at.row is not None:
        yield f"at {place(at)}"
    for what, got, expected in side_by_side(at):
        yield f"{what}: got {one_line(got)}, expected {one_line(expected)}"
    if isinstance(at, Small) and at.got != at.expected:
        yield f"ids left: got {_listed(at.got)}, expected {_listed(at.expected)}"
    for key, value in other_values(at):
        yield f"{one_line(key)}: {one_line(value)}"


def known_lines(group: Group) -> Iterator[str]:
    """Yield the planted faults that give the same: name and count. The text of the group has the
    rest."""
    for fault in group.known:
        cases = (
            f"{fault.explains:,} of {fault.tried:,} cases tried"
            if fault.tried
            else "the small case"
        )
        yield f"as if {one_line(fault.name)}: exactly so in {cases}"


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids)) or "none"


def in_one_line(case: dict[str, Any]) -> str:
    """Format a counterexample: "min_p p=0.5 on [2, 1.5, 1], history [1, 1]"."""
    batch = case.get("batch")
    samplers = _sequences(batch) if isinstance(batch, dict) else _chain(case)
    parts = [f"{samplers} on {_logits(case.get('logits'))}"]
    keys = ("description", "why", "tags", "id", "chain", "logits", "requires", "batch", "instead")
    parts += [f"{key} {number(value)}" for key, value in case.items() if key not in keys]
    return ", ".join(parts)


def _chain(holder: dict[str, Any]) -> str:
    return ", ".join(map(_stage, _tables(holder.get("chain")))) or "no sampler"


def _sequences(batch: dict[str, Any]) -> str:
    """Format a batch: "sequence 0: greedy; sequence 1: temp temp=0.5, output [1]; join 0, join 1,
    row 1 samples"."""
    parts = []
    for i, sequence in enumerate(_tables(batch.get("sequences"))):
        histories = [
            f"{name} {number(sequence[name])}" for name in _HISTORIES if sequence.get(name)
        ]
        parts.append(", ".join([f"sequence {i}: {_chain(sequence)}", *histories]))
    for step in _tables(batch.get("steps")):
        before = step.get("before")
        actions = [
            " ".join(map(str, operation)) if isinstance(operation, list) else str(operation)
            for operation in (before if isinstance(before, list) else [])
        ]
        actions += [
            f"row {number(sample.get('at'))} samples" for sample in _tables(step.get("sample"))
        ]
        parts.append(", ".join(actions))
    return "; ".join(parts)


def _tables(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _stage(stage: dict[str, Any]) -> str:
    return ", ".join(
        " ".join([name, *(f"{key}={number(value)}" for key, value in parameters.items())])
        for name, parameters in stage.items()
        if isinstance(parameters, dict)
    )


def _logits(logits: Any) -> str:
    rows = logits.get("rows") if isinstance(logits, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return f"logits {number(logits)}"
    return " then ".join(
        json.dumps(row[:_LONGEST_ROW])
        + (f" and {len(row) - _LONGEST_ROW:,} more" if len(row) > _LONGEST_ROW else "")
        for row in rows
    )
