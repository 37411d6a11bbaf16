"""The reference as a backend that writes the stages of a run into a table."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.server import InPlace

Edit = Callable[[Any, Any], object]


def _unchanged(table: Any, values: Any) -> None:
    """Leave all as it is."""


class Tabulating(InPlace):
    """The reference with the capability. edit: of the table, n, sorted and selected of each stage,
    and of the int32 values of all candidates, after each run."""

    def __init__(self, edit: Edit = _unchanged) -> None:
        super().__init__("reference", Worker())
        self.edit = edit
        self.asked: list[int | None] = []

    def hello(self) -> p.HelloReply:
        hello = super().hello()
        return hello.model_copy(update={"capabilities": [*hello.capabilities, "table"]})

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        reply = super().answer(request, timeout_s)
        self.asked.append(request.table)
        if request.table is not None and isinstance(reply, p.RunReply):
            assert reply.stages == []
            rows = len(request.steps) * len(request.chain)
            table = self.scratch.view(request.table, 3 * rows, np.int32).reshape(rows, 3)
            n = 3 * int(table[:, 0].sum())
            self.edit(table, self.scratch.view(request.out, n, np.int32))
        return reply


def put(row: int, column: int, value: int) -> Edit:

    def edit(table: Any, values: Any) -> None:
        table[row, column] = value

    return edit


def add(place: int) -> Edit:
    """Return an edit of a value: an id, or the last bit of a float."""

    def edit(table: Any, values: Any) -> None:
        values[place] += 1

    return edit
