"""common_sampler: its rules by hand. For its chain see test_common_sampler_chain.py."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import UndefinedInputError
from sampler_parity.reference.pipelines.common_chain import ban_eog
from sampler_parity.reference.pipelines.common_sampler import (
    CommonSampler,
    Output,
    SamplingParams,
    prefill_tokens,
)
from sampler_parity.reference.pipelines.reasoning_budget import BudgetState
from tests.support.applied import SEED, UNIFORM_DOUBLES, logs
from tests.support.native_common import Driver, driving
from tests.support.native_common.allow_list import AllowList

BPE, SPM = vocab_path("bpe"), vocab_path("spm")
# The second draw of the seed falls on token 0, the third on token 1.
U1, U2, U3 = UNIFORM_DOUBLES
EVEN, SKEWED = Output(logs(0.5, 0.5)), Output(logs(0.9, 0.1))
DRAW = SamplingParams(seed=SEED, samplers=())


@pytest.fixture
def driver() -> Iterator[Driver]:
    with driving() as driver:
        yield driver


def thinking(budget: int, **other: Any) -> SamplingParams:
    """Draws only; thinks from token 1 to token 2, and 3, 2 are forced."""
    return SamplingParams(
        seed=SEED, samplers=(), reasoning_budget_tokens=budget, reasoning_budget_start=(1,),
        reasoning_budget_end=((2,),), reasoning_budget_forced=(3, 2), **other,
    )  # fmt: skip


def _state(sampler: CommonSampler) -> BudgetState:
    assert sampler.budget is not None
    return sampler.budget.state


def test_refused_token_costs_a_draw() -> None:
    """u1 = 0.135 selects token 0 of two equal ones; the third draw, 0.969, token 1 of .9 .1."""
    sampler = CommonSampler(DRAW, 2, grammar=AllowList([{1}, {0, 1}]))
    assert U1 < 0.5
    assert U2 < 0.9 < U3
    assert sampler.sample(EVEN) == 1
    sampler.accept(1, True)
    assert sampler.sample(SKEWED) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "exists"),
    [
        (thinking(-1), False),
        (thinking(0), True),
        (thinking(-1, grammar_lazy=True), True),
        (thinking(-1, reasoning_control=True), True),
        (SamplingParams(reasoning_budget_tokens=1, reasoning_budget_start=(1,)), False),
        (SamplingParams(reasoning_budget_tokens=1, reasoning_budget_end=((1,),)), False),
    ],
    ids=["no limit", "limit", "lazy grammar", "control", "no end", "no start"],
)
def test_budget_exists_where_llama_cpp_makes_one(
    driver: Driver, params: SamplingParams, exists: bool
) -> None:
    driver.init(0, params)
    assert (driver.budget_of(0) is not None) == exists
    assert (CommonSampler(params, 5).budget is not None) == exists


def test_prefill_reaches_the_budget_and_a_grammar_that_needs_it() -> None:
    grammars = [AllowList([{0}]) for _ in range(3)]
    needs = (True, False, True)
    for grammar, needed, lazy in zip(grammars, needs, (False, False, True), strict=True):
        sampler = CommonSampler(
            thinking(7, grammar_lazy=lazy), 5, grammar=grammar, needs_prefill=needed, prefill=[1, 4]
        )
        assert sampler.budget is not None
        assert sampler.budget.remaining == 6
        assert not sampler.prev
    assert [grammar.accepted for grammar in grammars] == [[1, 4], [], []]


def test_prefill_leaves_out_a_space_that_the_tokenizer_put_first() -> None:
    vocab = read_vocab(SPM)
    tokens = vocab.tokenize(b"hello")
    assert vocab.piece(tokens[0]).startswith(b" ")
    assert prefill_tokens("hello", tokens, vocab) == tokens[1:]
    assert prefill_tokens(" hello", tokens, vocab) == tokens
    assert prefill_tokens("hello", tokens[1:], vocab) == tokens[1:]
    assert prefill_tokens("", [], vocab) == []


def test_reset_leaves_grammar_and_budget(driver: Driver) -> None:
    """In llama.cpp it reset the grammar, too, before the refactoring of common_sampler."""
    grammar, zeros = AllowList([{0, 1}]), Output(np.zeros(303, np.float32))
    sampler = CommonSampler(thinking(7), 303, grammar=grammar)
    driver.init(0, thinking(7), grammar=grammar.text())
    first = sampler.sample(zeros)
    assert driver.sample(0, zeros) == first
    sampler.accept(1, True)
    driver.ask("accept", 0, 1, True)
    sampler.reset()
    driver.ask("reset", 0)
    assert not sampler.prev
    assert grammar.accepted == driver.accepted_by_grammar(0) == [1]
    budget = driver.budget_of(0)
    assert budget is not None
    assert budget.state == _state(sampler) == BudgetState.COUNTING
    assert driver.sample(0, zeros) == sampler.sample(zeros) == first


def test_ignore_eos_bans_every_token_that_ends_a_generation() -> None:
    vocab = read_vocab(BPE)
    params = SamplingParams(ignore_eos=True, logit_bias=((5, 1.0),))
    bans = tuple((token, -math.inf) for token in sorted(vocab.eog))
    assert len(bans) == 2
    assert ban_eog(params, vocab).logit_bias == ((5, 1.0), *bans)
    assert ban_eog(SamplingParams(), vocab).logit_bias == ()


@pytest.mark.parametrize(
    ("prepare", "do", "message"),
    [
        (None, lambda s: s.sample(Output(np.empty(0, np.float32))), "the chain selected no token"),
        (
            None,
            lambda s: s.sample(Output(EVEN.logits, token=1)),
            "an in-graph sampler with a gramm",
        ),
        (None, lambda s: s.last, "no token has been accepted"),
        (None, lambda s: s.get_candidates(), "no candidates: nothing has been sampled"),
        (EVEN, lambda s: s.clone().get_candidates(), "no candidates: nothing has been sampled"),
        (
            Output(np.full(2, -np.inf, np.float32)),
            lambda s: s.get_candidates(do_sort=True),
            "candidates without a selection, or with p NaN",
        ),
    ],
    ids=["no candidates", "in-graph", "last of none", "before a sample", "clone", "sort NaN"],
)
def test_what_llama_cpp_leaves_undefined_is_refused(
    prepare: Output | None, do: Callable[[CommonSampler], object], message: str
) -> None:
    sampler = CommonSampler(thinking(1), 2)
    if prepare is not None:
        sampler.sample(prepare)
    with pytest.raises(UndefinedInputError, match=f"^{message}"):
        do(sampler)
