"""A batch is sent as one request, or row by row to backends without batches: the same tokens."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client_serving import Batch, BatchRan, batch, one_by_one
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.server import InPlace

V = 64
ROWS = [np.random.default_rng(i).normal(size=V).astype(np.float32) for i in range(3)]


def dist(seed: int) -> p.ChainSpec:
    penalties = {"penalty_last_n": 8, "penalty_repeat": 1.5}
    penalties |= {"penalty_freq": 0.5, "penalty_present": 0.5}
    return [{"penalties": penalties}, {"top_k": {"k": 20}}, {"dist": {"seed": seed}}]


SCRIPT = Batch(
    sequences=[
        p.BatchSequence(chain=dist(1), prompt=[3, 4], output=[5]),
        p.BatchSequence(chain=[{"greedy": {}}]),
        p.BatchSequence(chain=dist(2), prompt=[7]),
    ],
    steps=[
        p.BatchStep.model_validate(step)
        for step in (
            {"before": [("join", 0), ("join", 1), ("join", 2)], "sample": [{"at": 2, "row": 0}]},
            {"before": [("clone", 0)], "sample": [{"at": a, "row": a % 3} for a in (3, 0, 1, 2)]},
            {"before": [("leave", 1), ("swap", 0, 2), ("reset", 1)],
             "sample": [{"at": 0, "row": 1, "accept": 9}, {"at": 1, "row": 2, "accept": None}]},
            {"before": [("join", 0)], "sample": [{"at": a, "row": 0} for a in range(4)]},
        )
    ],
    n_vocab=V,
)  # fmt: skip


class Edited(InPlace):
    """capabilities: what it leaves out. edit: of the reply, after the scratch file was written."""

    def __init__(self, without: tuple[str, ...] = (), edit: Any = lambda b, reply: reply) -> None:
        super().__init__("mine", Worker())
        self.without, self.edit = without, edit
        self.sent: list[str] = []

    def hello(self) -> p.HelloReply:
        hello = super().hello()
        claims = [name for name in hello.capabilities if name not in self.without]
        return hello.model_copy(update={"capabilities": claims})

    def ask(self, request: Any, reply: Any, timeout_s: float | None = None) -> Any:
        self.sent.append(request.do)
        return self.edit(self, super().ask(request, reply, timeout_s))


@pytest.fixture
def ask_with() -> Iterator[Any]:
    made: list[Edited] = []

    def asked(*arguments: Any, **options: Any) -> tuple[BatchRan, list[str]]:
        made.append(Edited(*arguments, **options))
        return batch(made[-1], SCRIPT, ROWS), made[-1].sent

    yield asked
    for backend in made:
        backend.close()


def test_rows_asked_one_after_the_other_are_as_those_asked_at_once(ask_with: Any) -> None:
    together, asked = ask_with()
    apart, asked_apart = ask_with(("batch",))
    assert (asked, asked_apart) == (["batch"], ["run"] * 4)
    assert (together.apart, apart.apart) == (False, True)
    assert [len(step) for step in together.tokens] == [1, 4, 2, 4]
    assert apart.tokens == together.tokens
    for step, step_apart in zip(together.stages, apart.stages, strict=True):
        for row, row_apart in zip(step, step_apart, strict=True):
            assert [s.p.tobytes() for s in row] == [s.p.tobytes() for s in row_apart]


def test_a_clone_and_what_left_are_steps_of_the_row_that_joined() -> None:
    first, second, third, again = one_by_one(SCRIPT.steps)
    assert [row.sequence for row in (first, second, third, again)] == [0, 1, 2, 0]
    # joined at place 0, cloned to 3 (then 2, behind who left), which swap brings to the front
    assert first.places == [(1, 0), (1, 1), (2, 0), (3, 0), (3, 2)]
    assert [step.instance for step in first.steps] == [1, 0, 1, 1, 0]
    assert first.steps[0].before == [("clone", 0)]
    assert second.places == [(1, 2)]
    assert third.steps[2].before == [("reset", 0)]
    assert again.places == [(3, 3)]


def test_logits_that_are_changed_in_place_are_named(ask_with: Any) -> None:
    def scribble(backend: Edited, reply: Any) -> Any:
        backend.scratch.write(4 * (V + 5), np.zeros(1, np.float32))
        return reply

    assert ask_with(edit=scribble)[0].changed == [1]
    assert ask_with()[0].changed == []


@pytest.mark.parametrize(
    "wrong",
    [{"tokens": [[1]] * 4}, {"tokens": []}, {"stages": []}],
    ids=["rows", "steps", "stages"],
)
def test_a_reply_of_another_shape_breaks_the_protocol(wrong: dict[str, Any], ask_with: Any) -> None:
    with pytest.raises(BackendFailure, match="wrong number of steps, rows or stages"):
        ask_with(edit=lambda backend, reply: reply.model_copy(update=wrong))
