"""A token trie in common_sampler, after the reasoning budget and with a grammar.

The native and the reference sampler agree.
"""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.token_trie import Worker
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.samplers.token_trie import TokenTrie
from tests.support.applied import Spec
from tests.support.tries import payload, stage_of

N = 16
THINK, END = 1, 2
LEAVES = payload([5, 6], [5, 7], [9])
PLAIN = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


def rows(n: int, seed: int = 0) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, 2, N).astype(np.float32) for _ in range(n)]


def budgeted(**changes: Any) -> CommonSampler:
    """Reasoning between THINK and END, one token of it."""
    params = SamplingParams(
        seed=1, reasoning_budget_tokens=1, reasoning_budget_start=(THINK,),
        reasoning_budget_end=((END,),), reasoning_budget_forced=(END,), **{**PLAIN, **changes},
    )  # fmt: skip
    return CommonSampler(params, N)


@pytest.mark.parametrize("mode", [0, 1])
def test_outside_a_reasoning_block_the_budget_changes_nothing(mode: int) -> None:
    for seed in range(20):
        texts = []
        for sampler in (budgeted(), CommonSampler(SamplingParams(seed=1, **PLAIN), N)):  # type: ignore[arg-type]
            sampler.set_token_trie(TokenTrie(LEAVES, mode))
            tokens = []
            for row in rows(3, seed):
                tokens.append(sampler.sample(Output(row)))
                sampler.accept(tokens[-1], True)
            texts.append(tokens)
        assert texts[0] == texts[1]
        assert tuple(texts[0][:2]) in {(5, 6), (5, 7)} or texts[0][0] == 9


def test_a_span_that_is_open_while_the_budget_forces_leaves_no_token() -> None:
    """Each masks what the other lets through: a span belongs behind the reasoning."""
    sampler = budgeted()
    for token in (THINK, 4):
        sampler.accept(token, True)
    sampler.set_token_trie(TokenTrie(LEAVES, 0))
    sampler.sample(Output(rows(1)[0]))
    assert (sampler.get_candidates().logits == -np.inf).all()
    sampler.clear_token_trie()
    token = sampler.sample(Output(rows(1)[0]))
    assert token == END
    sampler.accept(token, True)
    sampler.set_token_trie(TokenTrie(LEAVES, 0))
    assert sampler.sample(Output(rows(1)[0])) in (5, 9)


def test_mode_0_ends_the_chain_and_mode_1_does_not() -> None:
    """Child 9 has the larger logit of the two; a temperature of 50 draws both about alike."""
    row = np.zeros(N, np.float32)
    row[9] = 3.0
    drawn: dict[int, set[int]] = {0: set(), 1: set()}
    for mode, tokens in drawn.items():
        sampler = CommonSampler(SamplingParams(seed=3, temp=50.0, **PLAIN), N)  # type: ignore[arg-type]
        for _ in range(40):
            sampler.set_token_trie(TokenTrie(LEAVES, mode))
            tokens.add(sampler.sample(Output(row)))
    assert drawn == {0: {9}, 1: {5, 9}}


@pytest.mark.parametrize("grammar_first", [True, False], ids=["grammar-first", "resampling"])
def test_with_a_grammar_a_token_must_pass_both(grammar_first: bool) -> None:
    vocab = read_vocab(vocab_path("bpe"))
    first = [vocab.tokenize(text.encode())[0] for text in ("yes", "no", "maybe")]
    grammar = Grammar('root ::= "yes" | "maybe"', "root", vocab)
    params = SamplingParams(seed=1, temp=0.0)
    sampler = CommonSampler(params, len(vocab), vocab, grammar=grammar)
    row = np.zeros(len(vocab), np.float32)
    row[first[1]], row[first[2]] = 9.0, 5.0
    sampler.set_token_trie(TokenTrie(payload(*[[token] for token in first]), 0))
    assert sampler.sample(Output(row), grammar_first) == first[2]


@pytest.mark.parametrize("mode", [0, 1])
def test_the_native_trie_behind_a_budget_selects_the_same(mode: int) -> None:
    sampler = budgeted(temp=1.5)
    sampler.set_token_trie(TokenTrie(LEAVES, mode))
    tail: Spec = [{"temp": {"temp": 1.5}}, {"dist": {"seed": 1}}]
    worker, trie = Worker(), stage_of(LEAVES, N, mode=mode, compact=True)
    native = worker.build([trie, *(tail if mode == 1 else [])], N, None)
    for row in rows(2):
        token = sampler.sample(Output(row))
        candidates = worker.candidates(row)
        native.apply(None, candidates)
        assert candidates.current()["id"][candidates.array.selected] == token
        sampler.accept(token, True)
        native.accept(token)
