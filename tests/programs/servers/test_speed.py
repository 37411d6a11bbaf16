from dataclasses import replace

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.speed import (
    LENGTH,
    ROUNDS,
    TimedRound,
    check_speed,
    summary,
    timed_round,
)
from tests.support.fake_server import EOS, Answered, Sent, answered, fake_client

MS = 1_000_000


def test_the_speed_of_each_width_is_reported_with_its_ratio_and_interval() -> None:
    with fake_client() as client:
        one, two = check_speed(client, (1, 2), rounds=2)
    assert (one.name, two.name) == ("1 client", "2 clients")
    assert (one.verdict, one.requests, two.requests) == ("honoured", 6, 12)
    assert one.figures["chain_tokens_per_s"] > 0
    assert (two.figures["chain_tokens"], two.figures["greedy_tokens"]) == (2 * LENGTH, 2 * LENGTH)
    assert "of a greedy one (2 rounds)" in one.evidence


def test_no_text_ends_before_its_length_where_the_dialect_can_say_so() -> None:
    """Else a greedy one that ends early makes tokens dear, for a request costs by itself."""

    def ends_at_once(sent: Sent) -> Answered:
        return answered({**sent, "logit_bias": [[EOS, 1000.0]]})

    with fake_client(ends_at_once) as client:
        (one,) = check_speed(client, (1,), rounds=1)
    assert (one.figures["chain_tokens"], one.figures["greedy_tokens"]) == (LENGTH, LENGTH)


def test_a_chain_that_costs_half_more_is_reported_so() -> None:
    greedy = [TimedRound(0.25 * i, 32, (10 * MS,) * 31) for i in range(1, ROUNDS + 1)]
    chain = [replace(t, seconds=t.seconds * 1.5, gaps_ns=(15 * MS,) * 31) for t in greedy]
    text, figures = summary(chain, greedy)
    assert figures["ratio"] == figures["ratio_low"] == figures["ratio_high"] == 1.5
    assert (figures["greedy_p50_ms"], figures["chain_p99_ms"]) == (10, 15)
    assert text.startswith("a token with the chain takes 1.500 [1.500, 1.500] of a greedy one (8 ")


def test_a_p99_needs_a_hundred_samples_and_an_interval_six_rounds() -> None:
    few = [TimedRound(1.0, 10, (MS,) * 9)] * 3
    text, figures = summary(few, few)
    assert "slowest of 27 1.00 ms" in text
    assert "p99" not in text
    assert not {"chain_p99_ms", "ratio_low"} & figures.keys()


def test_tokens_are_those_named_or_else_the_parts_of_the_streams() -> None:
    named = Answer({}, tokens=(1, 2, 3), times=(1.0, 1.002, 1.005, 1.006))
    assert timed_round([named, replace(named, tokens=None)], 2.0).tokens == 7
    assert timed_round([named], 2.0).gaps_ns == (2 * MS, 3 * MS, 1 * MS)
