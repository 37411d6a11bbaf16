"""Cells of 16-bit rows: the distribution is that of the rounded row, not of the original row."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.distribution.block import Cell
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand_kind, read_suite
from sampler_parity.harness.suite.ids import shipped

CELLS = expand_kind("distribution", read_suite(shipped()["distribution/dtypes"]), "quick")


class Unrounded(Worker):
    """Samples from the row as it was in float32."""

    def __init__(self, row: NDArray[np.float32]) -> None:
        super().__init__()
        self.row = row

    def candidates(self, logits: NDArray[np.float32]) -> Any:
        return super().candidates(self.row)


def decision(cell: Cell, worker: Worker) -> str:
    coarse = cell.model_copy(update={"margin": 0.05})  # fewer draws, but enough here
    backend = InPlace("reference", worker)
    try:
        return execute_cell(coarse, [backend], Budget(tests=10).each).backends["reference"].decision
    finally:
        backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])
def test_draws_follow_the_distribution_of_the_rounded_row_and_of_no_other(cell: Cell) -> None:
    assert decision(cell, Worker()) == "equivalent"
    assert decision(cell, Unrounded(cell.logits.row(0))) == "different"
