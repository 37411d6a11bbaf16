"""Tokens a second: each round asks for all sequences and, for comparison, for one alone."""

from contextlib import closing
from typing import Any

import pytest

from sampler_parity.harness.checks.throughput import Width, _with_tokens, decode_width
from sampler_parity.harness.checks.timed_records import ThroughputOnBackend
from sampler_parity.harness.checks.timing.rounds import RoundPlan
from sampler_parity.harness.protocol.messages import HelloReply, ThroughputReply, ThroughputRequest
from sampler_parity.harness.protocol.server import InPlace


class Counting:
    """Takes a millisecond for each sequence; remembers how many were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def hello(self) -> HelloReply:
        return HelloReply(
            name="counting", version="1", capabilities=["run", "throughput"], samplers=["greedy"]
        )

    def throughput(self, request: ThroughputRequest) -> ThroughputReply:
        self.asked.append(request.sequences)
        ns = [request.sequences * 1_000_000] * request.n_tokens
        tokens = [[0] * request.sequences] * request.n_tokens
        return ThroughputReply(prompt_ns=1, sample_ns=ns, decode_ns=ns, tokens=tokens)


def measured(sequences: int) -> tuple[list[int], Any]:
    fields: dict[str, Any] = {"id": "x", "model": "small", "prompt": [1], "tokens": 2}
    chain: Any = [{"greedy": {}}]
    width = Width(chain_name="x", chain=chain, sequences=sequences, **fields)
    worker = Counting()
    with closing(InPlace("counting", worker)) as backend:
        result = decode_width(width, [backend], RoundPlan(3))
    return worker.asked, result.backends["counting"]


def test_one_sequence_alone_takes_turns_with_many_in_every_round() -> None:
    asked, result = measured(8)
    rounds = [sorted(asked[i : i + 2]) for i in range(0, len(asked), 2)]
    assert rounds == [[1, 8]] * 4  # the first warms up
    assert [r.decode_ns[0] for r in result.rounds] == [8_000_000] * 3
    assert [r.decode_ns[0] for r in result.alone] == [1_000_000] * 3


def test_one_sequence_is_asked_for_once_a_round() -> None:
    asked, result = measured(1)
    assert asked == [1] * 4
    assert (len(result.rounds), result.alone) == (3, [])


# the tokens of many sequences with one prompt and one seed: equal, or reported as different

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
