"""Tokens a second: each round asks for all sequences and, for comparison, for one alone."""

from typing import Any

from sampler_parity.harness.checks.throughput import Width, decode_width
from sampler_parity.harness.checks.timing.rounds import RoundPlan
from sampler_parity.harness.protocol.messages import (
    HelloReply,
    ThroughputReply,
    ThroughputRequest,
)
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
    width = Width(
        id="x", model="small", chain_name="x", chain=[{"greedy": {}}], prompt=[1], tokens=2,
        sequences=sequences,
    )  # fmt: skip
    worker = Counting()
    backend = InPlace("counting", worker)
    result = decode_width(width, [backend], RoundPlan(3))
    backend.close()
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
