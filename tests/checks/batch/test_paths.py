"""The path of a row through a script, alone and in the opposite order, worked out by hand."""

from typing import Any

from sampler_parity.harness.checks.batch.relations import Where, mirrored, paths
from sampler_parity.harness.failures.shrink_batch import without_rows
from sampler_parity.harness.protocol.messages import BatchStep


def script(*steps: tuple[list[Any], list[tuple[int, int]]]) -> list[BatchStep]:
    """Operations, and of each row that samples its place and its row of logits."""
    return [
        BatchStep.model_validate(
            {"before": before, "sample": [{"at": at, "row": row} for at, row in sample]}
        )
        for before, sample in steps
    ]


STEPS = script(
    ([("join", 4), ("join", 5)], [(0, 0), (1, 1)]),  # a, b
    ([("clone", 0), ("reset", 1)], [(2, 2), (1, 3)]),  # a, b, c: c of a
    ([("swap", 0, 2), ("leave", 1)], [(0, 4), (1, 5)]),  # c, a
)


def test_a_clone_does_alone_what_its_original_did_and_then_what_it_does() -> None:
    a, b, c = paths(STEPS)
    assert [path.sequence for path in (a, b, c)] == [4, 5, 4]
    assert c.samples == [Where(1, 0, at=2, of=3, nth=1), Where(2, 0, at=0, of=2, nth=2)]
    assert [one.row for _, one in a.taken] == [0, 5]
    assert c.alone() == script(([("join", 0)], [(0, 0)]), ([], [(0, 2)]), ([], [(0, 4)]))
    assert b.alone() == script(([("join", 0)], [(0, 1)]), ([("reset", 0)], [(0, 3)]))


def test_in_the_mirror_each_row_samples_at_the_place_across() -> None:
    assert mirrored(STEPS) == script(
        ([("join", 4), ("join", 5), ("swap", 0, 1)], [(0, 1), (1, 0)]),
        ([("swap", 0, 1), ("clone", 0), ("reset", 1), ("swap", 0, 2)], [(1, 3), (0, 2)]),
        ([("swap", 0, 2), ("swap", 0, 2), ("leave", 1), ("swap", 0, 1)], [(0, 5), (1, 4)]),
    )


def test_without_a_row_the_others_keep_their_steps_at_new_places() -> None:
    assert without_rows(STEPS, {1}) == script(
        ([("join", 4)], [(0, 0)]),
        ([("clone", 0)], [(1, 2)]),
        ([("swap", 0, 1)], [(0, 4), (1, 5)]),
    )
    assert without_rows(STEPS, {0}) == script(  # and its clone is left out
        ([("join", 5)], [(0, 1)]), ([("reset", 0)], [(0, 3)]), ([("leave", 0)], [])
    )
