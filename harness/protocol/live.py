"""Apply the operations of a script to the rows of a live batch.

The caller chooses what a row is: a chain, the number of a sequence, or its history.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sampler_parity.harness.protocol.messages import BatchStep, Operation

T = TypeVar("T")


@dataclass
class Live(Generic[T]):
    """The rows in their order. join: the row that a sequence becomes. clone: a copy of a row."""

    join: Callable[[int], T]
    clone: Callable[[T], T]
    reset: Callable[[T], None]
    rows: list[T] = field(default_factory=list)

    def do(self, operations: Iterable[Operation]) -> None:
        for name, at, *rest in operations:
            if name == "join":
                self.rows.append(self.join(at))
            elif name == "leave":
                del self.rows[at]
            elif name == "clone":
                self.rows.append(self.clone(self.rows[at]))
            elif name == "swap":
                (second,) = rest
                self.rows[at], self.rows[second] = self.rows[second], self.rows[at]
            else:
                self.reset(self.rows[at])


def sequences_of(steps: Iterable[BatchStep]) -> list[list[int]]:
    """Return the sequences of the sampling rows of each step; a clone has that of its row."""
    live: Live[int] = Live(join=lambda s: s, clone=lambda s: s, reset=lambda s: None)
    sampled = []
    for step in steps:
        live.do(step.before)
        sampled.append([live.rows[sample.at] for sample in step.sample])
    return sampled


def check_script(steps: list[BatchStep], sequences: int, rows: int) -> None:
    """Raise ValueError for an operation or a row outside the script's range."""
    n = 0
    for number, step in enumerate(steps, 1):
        for operation in step.before:
            name, *places = operation
            size = sequences if name == "join" else n
            if max(places) >= size:
                what = "sequences" if name == "join" else "live rows"
                raise ValueError(
                    f"step {number}: {list(operation)} is out of range, there are {size} {what}"
                )
            n += {"join": 1, "clone": 1, "leave": -1}.get(name, 0)
        places = [sample.at for sample in step.sample]
        if places and max(places) >= n:
            raise ValueError(f"step {number}: row {max(places)} samples, but {n} rows are live")
        if len(set(places)) < len(places):
            raise ValueError(f"step {number}: a row samples twice")
        if max((sample.row for sample in step.sample), default=-1) >= rows:
            raise ValueError(
                f"step {number}: the sampled row is out of range, there are {rows} rows of logits"
            )
