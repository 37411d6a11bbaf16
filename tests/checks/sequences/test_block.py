"""Blocks of sequences: their scripts become steps; impossible scripts are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from sampler_parity.harness.checks.sequences.block import SequencesBlock, SequencesCase

CHAINS: Any = {"a": [{"dist": {"seed": "$text"}}], "b": [{"greedy": {}}]}
JOINS = [
    {"at": 0, "slot": 1, "join": ["a", "p"]},
    {"at": 0, "slot": 0, "join": ["b", "p"]},
    {"at": 1, "slot": 2, "join": ["a", "p"]},
]


def cases(script: list[dict[str, Any]], **fields: Any) -> list[SequencesCase]:
    block = {"id": "x", "description": "x", "why": "x", "prompts": {"p": [1, 2]}, "slots": 3}
    block |= {"steps": 4, "chains": CHAINS, "script": script} | fields
    return list(SequencesBlock.model_validate(block).items(False, {}))


def test_each_text_that_joins_has_its_own_seed() -> None:
    (case,) = cases(JOINS)
    seeds = [text.chain[0].get("dist", {}).get("seed") for text in case.logits.texts.values()]
    assert seeds == [0, None, 2]


@pytest.mark.parametrize(
    ("order", "batches", "samples"),
    [
        ("plain", [[0, 1], [0, 1, 2], [0, 1, 2]], [[0, 1], [0, 1, 2], [0, 1, 2]]),
        ("reversed", [[0, 1], [0, 1, 2], [0, 1, 2]], [[1, 0], [2, 1, 0], [2, 1, 0]]),
        ("turning", [[0, 1], [1, 2, 0], [2, 0, 1]], [[1, 0], [0, 2, 1], [1, 0, 2]]),
        ("uneven", [[1], [1, 0], [2, 0]], [[1], [0, 1], [0, 2]]),
    ],
)
def test_an_order_says_how_slots_are_decoded_and_sampled(
    order: str, batches: list[list[int]], samples: list[list[int]]
) -> None:
    (case,) = cases(JOINS, orders=[order])
    assert [step.batch for step in case.logits.script][:3] == batches
    assert [step.sample for step in case.logits.script][:3] == samples


def test_each_order_and_each_number_of_threads_is_a_case() -> None:
    made = cases(JOINS, orders=["plain", "uneven"], threads=[2])
    assert [(case.id, case.logits.threads) for case in made] == [
        ("x/plain", 1), ("x/uneven", 1), ("x/threads-2", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"at": 1, "slot": 0, "join": ["a", "p"]}, "step 1: slot 0 is occupied"),
        ({"at": 1, "slot": 3, "join": ["a", "p"]}, "step 1: join of slot 3, there are 3 slots"),
        ({"at": 1, "slot": 2, "copy": 2}, "copy of slot 2, which is empty"),
        ({"at": 1, "leave": 2}, "leave of slot 2, which is empty"),
        ({"at": 2, "reset": 2}, "reset of slot 2, which is empty"),
        ({"at": 4, "leave": 0}, "an event at step 4; the last step is 3"),
        ({"at": 1, "slot": 2, "join": ["c", "p"]}, "unknown chain 'c'"),
        ({"at": 1, "slot": 2, "leave": 1}, "one of leave and reset"),
        ({"at": 1, "leave": 1, "reset": 1}, "give one of join and copy"),
    ],
)
def test_a_script_that_cannot_be_followed_is_refused(event: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cases([*JOINS[:2], event])


def test_a_step_at_which_no_slot_is_taken_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        cases([{"at": 1, "slot": 0, "join": ["a", "p"]}])
