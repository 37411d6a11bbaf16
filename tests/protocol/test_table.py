"""Stages in a table of the scratch file are those of JSON, and a wrong table is noticed."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Ran
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.server import InPlace
from tests.support.runs import cases, shown
from tests.support.tabulating import Edit, Tabulating, put


class Idle(Tabulating):
    """Replies without writing anything."""

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        return p.RunReply(tokens=[None] * len(request.steps))


class Far(Worker):
    """Selects a token at an index that no int32 holds."""

    def result(self, candidates: Any) -> Any:
        return (*super().result(candidates)[:4], 2**32 + 1)


@pytest.fixture
def tabulating() -> Iterator[Tabulating]:
    with closing(Tabulating()) as backend:
        yield backend


def ran_on(backend: InPlace, ready: Prepared) -> Ran | str:
    try:
        return client.run(
            backend,
            ready.setting,
            ready.rows,
            ready.steps,
            instances=ready.instances,
            detail=ready.case.detail,
        )
    except BackendFailure as failure:
        return failure.verdict


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["parity/top_k", "parity/state", "parity/dtypes", "parity/xtc"])
def test_a_table_has_the_same_stages_as_json(suite: str, tabulating: Tabulating) -> None:
    with closing(InPlace("reference", Worker())) as plain:
        listed = [shown(ran_on(plain, ready)) for ready in cases(suite)]
    assert [shown(ran_on(tabulating, ready)) for ready in cases(suite)] == listed
    assert sum(len(stages) for _, *each in listed for stages in each) > 20
    assert any(table is not None for table in tabulating.asked)


SETTING = client.Setting([{"top_k": {"k": 2}}, {"temp": {"temp": 0.5}}], 4)
ROW = np.array([0.5, 3.0, -1.0, 2.0], np.float32)


def run(backend: InPlace) -> Ran:
    steps = [p.Step(row=0, accept=None)] * 2
    return client.run(backend, SETTING, [ROW], steps, whole_chain=False)


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        (put(0, 0, -1), "n -1, sorted 1, selected -1"),
        (put(1, 0, 5), "n 5, sorted 1, selected -1"),
        (put(3, 1, 2), "n 2, sorted 2, selected -1"),
        (put(2, 1, -2), "n 2, sorted -2, selected -1"),
        (lambda table, values: table.fill(client.UNWRITTEN), f"n {-(2**31)}, sorted {-(2**31)}"),
    ],
)
def test_a_row_that_is_no_stage_breaks_the_protocol(
    edit: Edit, row: str, tabulating: Tabulating
) -> None:
    tabulating.edit = edit
    with pytest.raises(BackendFailure, match=f"invalid stage of 4 tokens in the table: {row}"):
        run(tabulating)


def test_a_table_of_an_earlier_request_is_no_answer(tabulating: Tabulating) -> None:
    run(tabulating)
    idle = Idle()
    idle.scratch.remove()
    idle.scratch = tabulating.scratch
    with pytest.raises(BackendFailure, match="invalid stage of 4 tokens"):
        run(idle)


def test_an_index_beyond_int32_stays_no_index(tabulating: Tabulating) -> None:
    tabulating.worker = Far()
    assert {got.selected for stages in run(tabulating).stages for got in stages} == {2**31 - 1}
