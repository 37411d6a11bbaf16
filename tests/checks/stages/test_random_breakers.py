"""[[random_breakers]]: its draws reach every rule of dry's breakers."""

from functools import cache

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.random_breakers import RandomBreakers
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference.samplers.dry import breaker_sequences

BLOCK = RandomBreakers(
    id="b", description="d", why="w", count=80, seed=1, vocabs=["bpe", "spm"], quick=40
)


@cache
def drawn_cases() -> list[StagesCase]:
    return list(BLOCK.items(True, 0))


def breakers(case: StagesCase) -> list[str | None]:
    given: list[str | None] = case.chain[0]["dry"]["seq_breakers"]
    return given


@pytest.mark.slow
def test_the_same_seed_draws_the_same_and_the_quick_profile_begins_the_full_one() -> None:
    assert list(BLOCK.items(False, 0))[:40] == drawn_cases()
    assert next(BLOCK.items(True, 1)).chain != drawn_cases()[0].chain


@pytest.mark.parametrize(
    "drawn",
    [
        lambda case: "" in breakers(case),
        lambda case: None in breakers(case),
        lambda case: len(set(breakers(case))) < len(breakers(case)),
        lambda case: any(b and len(b.encode()) > 40 for b in breakers(case)),
        lambda case: case.vocab == "spm" and case.script == "clone",
    ],
    ids=["empty", "null", "twice", "truncated", "a clone with SentencePiece"],
)
def test_each_kind_of_breaker_is_drawn(drawn: object) -> None:
    assert callable(drawn)
    assert any(drawn(case) for case in drawn_cases())


def test_histories_hold_breakers_of_several_tokens_whole_and_cut() -> None:
    whole = cut = 0
    for case in drawn_cases():
        heads = breaker_sequences(breakers(case), read_vocab(vocab_path(case.vocab or "")))
        for head, tails in heads.items():
            for tail in tails:
                if tail and () not in tails:
                    whole += holds(case.history, [head, *tail])
                    cut += holds(case.history, [head, *tail[:-1]])
    assert whole > 10
    assert cut > whole


def holds(history: list[int], part: list[int]) -> bool:
    return any(history[i : i + len(part)] == part for i in range(len(history)))
