"""The tokens of many sequences with one prompt and one seed: equal, or reported as different."""

import pytest

from sampler_parity.harness.checks.throughput import _with_tokens
from sampler_parity.harness.checks.timed_records import ThroughputOnBackend

DIST = [{"dist": {"seed": 1}}]
EQUAL = [[7, 7, 7], [9, 9, 9]]


def test_sequences_with_one_seed_that_select_the_same_tokens_are_not_reported() -> None:
    once = _with_tokens(ThroughputOnBackend(), DIST, EQUAL)
    again = _with_tokens(once, DIST, EQUAL)
    assert (again.parted, len(again.text_sha256)) == ("", 64)


@pytest.mark.parametrize(
    ("tokens", "parted"),
    [
        ([[7, 7, 7], [9, 9, 8]], "sequence 3 of 3 leaves the first one's text at token 2"),
        ([[7, 6, 7], [9, 9, 9]], "sequence 2 of 3 leaves the first one's text at token 1"),
    ],
)
def test_the_first_sequence_that_leaves_the_first_ones_text_is_named(
    tokens: list[list[int]], parted: str
) -> None:
    got = _with_tokens(ThroughputOnBackend(), DIST, tokens).parted
    assert got == f"{parted}, with its prompt and seed"


def test_a_round_or_a_sequence_alone_that_selects_other_tokens_is_reported() -> None:
    once = _with_tokens(ThroughputOnBackend(), DIST, EQUAL)
    got = _with_tokens(once, DIST, [[7, 7, 7], [8, 8, 8]]).parted
    assert got == "alone or in another round the first sequence selects other tokens"


def test_nothing_is_reported_of_a_chain_without_a_seed_or_of_no_tokens() -> None:
    unseeded = _with_tokens(ThroughputOnBackend(), [{"dist": {"seed": 4294967295}}], [[1, 2]])
    assert unseeded == _with_tokens(ThroughputOnBackend(), DIST, []) == ThroughputOnBackend()
