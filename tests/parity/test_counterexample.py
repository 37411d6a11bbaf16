"""Which failing cases are made small, and what is said of the others."""

import pytest

from sampler_parity.harness.backends.engines import WORKER_COMMAND
from sampler_parity.harness.inputs.logits import Generated
from sampler_parity.harness.mutants.in_process import InProcess
from sampler_parity.harness.parity.counterexample import (
    BY_CHANCE,
    NO_TIME,
    OF_FIRSTS,
    OF_OTHERS,
    Shrinking,
)
from sampler_parity.harness.parity.execute import execute
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.case import Case
from tests.support.draws import DRAWS

WRONG = Case(
    id="wrong",
    description="one more of the ten",
    why="one more",
    chain=[{"top_k": {"k": 4}}, {"greedy": {}}],
    logits=Generated(family="normal", n=10),
)
NAME = "mutant/top_k/keeps-one-more"


@pytest.mark.parametrize(
    ("spent_s", "known", "shrunk"),
    [
        (0.0, False, True),
        (OF_OTHERS, False, True),
        (OF_FIRSTS, False, False),
        (0.0, True, True),
        (OF_OTHERS, True, False),
    ],
)
def test_the_first_of_a_class_has_more_time_than_the_others(
    spent_s: float, known: bool, shrunk: bool
) -> None:
    shrinking = Shrinking({(NAME, "top_k", "diverged")} if known else set(), spent_s)
    backend = InProcess("top_k/keeps-one-more")
    got = shrinking.small(WRONG, execute(WRONG, [backend]), [backend], {})
    backend.close()
    assert (got.counterexample is not None) is shrunk
    assert (got.backends[NAME].detail == NO_TIME) is not shrunk
    assert got.backends[NAME].verdict == "diverged"


def test_what_was_shrunk_is_counted() -> None:
    shrinking = Shrinking()
    backend = InProcess("top_k/keeps-one-more")
    shrinking.small(WRONG, execute(WRONG, [backend]), [backend], {})
    backend.close()
    assert shrinking.classes == {(NAME, "top_k", "diverged")}
    assert shrinking.spent_s > 0


@pytest.mark.slow
def test_what_a_fresh_process_does_not_repeat_is_said_to_depend_on_chance() -> None:
    command = [*WORKER_COMMAND, "mutant", "dist/every-thousandth-draw"]
    backend = BackendProcess("mine", command)
    try:
        results = [execute(DRAWS, [backend]) for _ in range(4)]
        assert [r.backends["mine"].verdict for r in results] == ["identical"] * 3 + ["diverged"]
        got = Shrinking().small(DRAWS, results[-1], [backend], {})
    finally:
        backend.close()
    assert got.counterexample is None
    assert got.backends["mine"].detail == BY_CHANCE
    assert not got.ok
