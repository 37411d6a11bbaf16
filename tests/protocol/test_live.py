"""Effects of the operations of a batch's script on its rows, worked out by hand."""

from typing import Any

import pytest

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.live import Live, check_script, sequences_of


def after(*operations: Any) -> list[str]:
    """Rows are texts: what they are of, and what was done to them."""
    noted: list[list[str]] = []

    def join(s: int) -> list[str]:
        noted.append([f"s{s}"])
        return noted[-1]

    live = Live(join, lambda row: [*row, "copy"], lambda row: row.append("reset"))
    live.do(operations)
    return [" ".join(row) for row in live.rows]


JOINED = [("join", 0), ("join", 1), ("join", 2)]


@pytest.mark.parametrize(
    ("operations", "rows"),
    [
        (JOINED, ["s0", "s1", "s2"]),
        ([*JOINED, ("leave", 0)], ["s1", "s2"]),
        ([*JOINED, ("leave", 1), ("leave", 1)], ["s0"]),
        ([*JOINED, ("leave", 1), ("join", 1)], ["s0", "s2", "s1"]),
        ([*JOINED, ("swap", 0, 2), ("leave", 2)], ["s2", "s1"]),
        ([*JOINED, ("clone", 0), ("reset", 0)], ["s0 reset", "s1", "s2", "s0 copy"]),
        ([*JOINED, ("reset", 1), ("clone", 1)], ["s0", "s1 reset", "s2", "s1 reset copy"]),
    ],
    ids=["join", "first-leaves", "two-leave", "joins-again", "swap", "clone", "clone-of-reset"],
)
def test_an_operation_works_on_the_places_of_its_moment(
    operations: list[Any], rows: list[str]
) -> None:
    assert after(*operations) == rows


def step(*before: Any, sample: tuple[int, ...] = ()) -> p.BatchStep:
    return p.BatchStep(before=list(before), sample=[p.BatchSample(at=at, row=0) for at in sample])


def test_a_row_is_known_by_its_sequence_wherever_it_has_moved() -> None:
    steps = [
        step(*JOINED, sample=(2, 0)),
        step(("leave", 0), ("clone", 1), sample=(0, 2)),
        step(sample=()),
    ]
    assert sequences_of(steps) == [[2, 0], [1, 2], []]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([step(("join", 2))], r"step 1: \['join', 2\] is out of range, there are 2 sequences"),
        ([step(("leave", 0))], r"step 1: \['leave', 0\] is out of range, there are 0 live rows"),
        ([step(("join", 0), ("swap", 0, 1))], "there are 1 live rows"),
        ([step(("join", 0), ("leave", 0), ("clone", 0))], "there are 0 live rows"),
        ([step(("join", 0)), step(sample=(1,))], "step 2: row 1 samples, but 1 rows are live"),
        ([step(("join", 0), sample=(0, 0))], "step 1: a row samples twice"),
    ],
)
def test_a_script_that_names_what_is_not_there_is_refused(
    steps: list[p.BatchStep], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_script(steps, sequences=2, rows=1)


def test_a_script_that_names_a_row_of_logits_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"step 1: .* there are 0 rows of logits"):
        check_script([step(("join", 0), sample=(0,))], sequences=1, rows=0)
