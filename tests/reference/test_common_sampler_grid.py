"""common_sampler against libllama-common, by grids: each value of each parameter, each way of
thinking with each kind of grammar, and functions other than sampling.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import ChainError, UndefinedInputError
from sampler_parity.reference.pipelines.common_sampler import (
    CommonSampler,
    Output,
    SamplingParams,
    prefill_tokens,
)
from tests.support.native_common import Driver, NativeError, driving, same
from tests.support.native_common.allow_list import AllowList

N_VOCAB = 303
VOCAB = read_vocab(vocab_path("bpe"))
THINK, ENDED = 1, 2  # tokens that begin and end a reasoning block


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with driving() as driver:
        yield driver


def row(seed: int) -> Output:
    """Tokens below 8 are likely; a third of the others is not there."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, N_VOCAB).astype(np.float32)
    logits[:8] += 6
    logits[rng.integers(8, N_VOCAB, N_VOCAB // 3)] = -np.inf
    return Output(logits)


def follow(driver: Driver, reference: CommonSampler, native: int, tokens: list[int]) -> None:
    """Before each of these tokens is accepted, and behind the last, both sample the same: every
    other time with the grammar first."""
    for i, accepted in enumerate([None, *tokens]):
        if accepted is not None:
            reference.accept(accepted, True)
            driver.ask("accept", native, accepted, True)
        grammar_first = i % 2 == 1
        token = reference.sample(row(i), grammar_first)
        assert token == driver.sample(native, row(i), grammar_first)
        same(reference.get_candidates(), driver.candidates(native, False))
        grammar, budget = reference.grammar, driver.budget_of(native)
        expected = grammar.accepted if isinstance(grammar, AllowList) else []
        assert driver.accepted_by_grammar(native) == expected
        if reference.budget is not None and budget is not None:
            ours = (reference.budget.state, reference.budget.end_match)
            assert ours == (budget.state, budget.end_match)


# Values of each parameter: the default, off, and between.
VALUES: dict[str, list[Any]] = {
    "seed": [0, 7, 2**32 - 2],
    "n_prev": [0, 33],
    "min_keep": [0, 1, 300],
    "top_k": [-1, 0, 1, 40, 1000],
    "top_p": [0.0, 0.5, 1.0],
    "min_p": [0.0, 0.3, 1.0],
    "xtc_probability": [0.0, 0.5, 1.0],
    "typ_p": [0.0, 0.7, 1.0],
    "temp": [-1.0, 0.0, 0.8, 2.0],
    "dynatemp_range": [0.0, 0.5],
    "penalty_last_n": [-1, 0, 3],
    "penalty_repeat": [1.0, 1.3],
    "penalty_freq": [0.0, 0.2],
    "penalty_present": [0.0, -0.2],
    "dry_multiplier": [0.0, 0.8],
    "dry_sequence_breakers": [(), ("a",), ("\n", ":", '"', "*")],
    "adaptive_target": [-1.0, 0.3],
    "mirostat": [0, 1, 2],
    "top_n_sigma": [-1.0, 0.0, 1.5],
    "logit_bias": [(), ((5, 1.5), (6, -math.inf))],
    "samplers": [(), SamplingParams().samplers, ("infill",), ("adaptive_p", "temperature")],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_each_value_of_each_parameter_means_what_it_means_natively(
    driver: Driver, name: str
) -> None:
    other = {"dynatemp_range": {"temp": 1.5}, "dry_sequence_breakers": {"dry_multiplier": 0.8}}
    for value in VALUES[name]:
        params = SamplingParams(**{"seed": 11, name: value} | other.get(name, {}))
        reference = CommonSampler(params, N_VOCAB, VOCAB)
        driver.init(0, params)
        follow(driver, reference, 0, [5, 97, 5, 97])


FORCED: list[tuple[int, ...]] = [(3, ENDED), ()]
LIMITS: list[dict[str, Any]] = [
    {"reasoning_budget_tokens": -1},
    {"reasoning_budget_tokens": -1, "reasoning_control": True},
    {"reasoning_budget_tokens": 0},
    {"reasoning_budget_tokens": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [False, True], ids=["a grammar", "a lazy grammar"])
@pytest.mark.parametrize("kind", [None, 1, 3], ids=["none", "a user's", "of tools"])
def test_thinking_and_a_grammar_go_together_as_natively(
    driver: Driver, kind: int | None, lazy: bool
) -> None:
    """Blocks that end by themselves, by the limit and by hand; a second block; each limit."""
    for limit, forced in itertools.product(LIMITS, FORCED):
        params = SamplingParams(
            seed=11, grammar_lazy=lazy, reasoning_budget_start=(THINK,),
            reasoning_budget_end=((ENDED,), (4, ENDED)), reasoning_budget_forced=forced, **limit,
        )  # fmt: skip
        grammar = AllowList([{1, 2, 3, 4}, {5}]) if kind else None
        driver.init(
            0, params, grammar=grammar.text() if grammar else "", grammar_type=kind or 1,
            generation_prompt="ab",
        )  # fmt: skip
        prefill = prefill_tokens("ab", VOCAB.tokenize(b"ab"), VOCAB)
        reference = CommonSampler(
            params, N_VOCAB, VOCAB, grammar=grammar, needs_prefill=kind == 3, prefill=prefill
        )
        follow(driver, reference, 0, [THINK, 5, 4, ENDED, 5, THINK, 3, ENDED, THINK, 5, 6, 7, 5])
        reference.accept(THINK, True)
        driver.ask("accept", 0, THINK, True)
        assert driver.ask("force", 0) == [str(int(reference.force_reasoning_end()))]
        follow(driver, reference, 0, [3, ENDED, 5])


def test_a_copy_goes_on_as_the_one_that_was_copied(driver: Driver) -> None:
    """b11549 and the speculative decoder use it to replace a state by another one."""
    kept = SamplingParams(
        seed=11, penalty_repeat=1.3, reasoning_budget_tokens=2, reasoning_budget_start=(THINK,),
        reasoning_budget_end=((ENDED,),), reasoning_budget_forced=(3, ENDED),
    )  # fmt: skip
    grammar = AllowList([set(range(8))])
    driver.init(0, kept, grammar=grammar.text())
    driver.init(1, dataclasses.replace(kept, seed=12), grammar=grammar.text())
    reference = CommonSampler(kept, N_VOCAB, VOCAB, grammar=grammar)
    follow(driver, reference, 0, [THINK, 5, 6])
    driver.sample(1, row(9))
    driver.ask("accept", 1, 7, True)
    driver.ask("copy", 0, 1)
    same(reference.get_candidates(), driver.candidates(1, False))
    assert driver.prev_str(1, 40) == reference.prev_str(40)
    twin = reference.clone()
    follow(driver, twin, 1, [3, ENDED, 5])
    follow(driver, reference, 0, [ENDED, 3, 6])
    driver.ask("copy", 0, 0)
    follow(driver, reference, 0, [7])
    driver.init(2, kept)  # that has not sampled yet
    driver.init(3, dataclasses.replace(kept, seed=12))
    driver.ask("copy", 2, 3)
    follow(driver, CommonSampler(kept, N_VOCAB, VOCAB), 3, [5])


def test_a_draft_is_followed_to_its_end_or_the_generations(driver: Driver) -> None:
    """Drafts of up to three tokens, with and without one that ends the generation; the model agrees
    with all of the draft, or not with its second token."""
    end = min(VOCAB.eog)
    params = SamplingParams(seed=11)
    for n, agrees in itertools.product(range(4), (True, False)):
        for draft in itertools.product((5, end), repeat=n):
            likely = [*draft, 5]
            if not agrees and n > 1:
                likely[1] = 6
            outputs = []
            for token in likely:
                logits = np.zeros(N_VOCAB, np.float32)
                logits[token] = 90
                outputs.append(Output(logits))
            driver.init(0, params)
            reference = CommonSampler(params, N_VOCAB, VOCAB)
            tokens = reference.sample_and_accept_n(outputs, draft)
            assert tokens == driver.sample_and_accept_n(0, outputs, draft, False)
            assert driver.prev_str(0, 9) == reference.prev_str(9)


@pytest.mark.parametrize(
    ("kind", "text", "pattern"),
    [
        (1, "a.b", "a\\.b"), (1, "<tool>", "<tool>"), (1, "", ""), (2, "a.b", "a.b"),
        (3, "a", "^a$"), (3, "^a", "^a$"), (3, "a$", "^a$"), (3, "^a$", "^a$"), (3, "", "^$"),
    ],
)  # fmt: skip
def test_a_trigger_becomes_a_pattern(driver: Driver, kind: int, text: str, pattern: str) -> None:
    """1: a word, 2: a pattern, 3: a pattern of the whole text."""
    driver.init(
        0, SamplingParams(grammar_lazy=True), grammar="1", triggers=[(kind, text, 0), (0, "", 9)]
    )
    assert driver.triggers() == ([pattern], [9])


@pytest.mark.parametrize("thinks", [False, True])
def test_a_grammar_or_a_budget_keeps_the_samplers_out_of_the_graph(
    driver: Driver, thinks: bool
) -> None:
    budget: dict[str, Any] = {
        "reasoning_budget_tokens": 1, "reasoning_budget_start": (1,),
        "reasoning_budget_end": ((2,),),
    } if thinks else {}  # fmt: skip
    for grammar in ("", "1"):
        driver.init(0, SamplingParams(**budget), grammar=grammar, backend_sampling=True)
        allowed = not thinks and not grammar
        assert driver.ask("backend_sampling", 0) == [str(int(allowed))]


@pytest.mark.parametrize(
    ("grammar", "kind", "message"),
    [
        ("none", 1, "failed to parse grammar"),
        ("%llguidance {}", 1, "failed to parse grammar: llguidance is not enabled"),
        ("deaf", 2, "std::exception"),
    ],
    ids=["no grammar", "llguidance", "a prompt that does not fit"],
)
def test_a_grammar_is_refused(driver: Driver, grammar: str, kind: int, message: str) -> None:
    with pytest.raises(NativeError, match=f"^{message}$"):
        driver.init(0, SamplingParams(), grammar=grammar, grammar_type=kind, generation_prompt="a")


def test_the_seed_is_that_of_the_draw(driver: Driver) -> None:
    """The seed of adaptive_p is not reported: llama_sampler_get_seed does not know it."""
    for change, seed in (
        ({}, 7), ({"mirostat": 1}, 7), ({"mirostat": 2}, 7),
        ({"samplers": ("adaptive_p",)}, 2**32 - 1),
    ):  # fmt: skip
        driver.init(0, SamplingParams(**{"seed": 7} | change))
        assert driver.ask("seed", 0) == [str(seed)]


def test_nothing_happens_where_there_is_no_sampler(driver: Driver) -> None:
    assert driver.ask("no_sampler") == ["1", "1"]


def test_a_number_that_is_no_sampler_has_no_name(driver: Driver) -> None:
    assert driver.ask("type", 5) == ["x", "?"]


def test_there_is_no_last_token_before_the_first(driver: Driver) -> None:
    driver.init(0, SamplingParams())
    with pytest.raises(NativeError, match="index out of bounds"):
        driver.ask("last", 0)
    with pytest.raises(UndefinedInputError, match="no token has been accepted"):
        CommonSampler(SamplingParams(), N_VOCAB).last  # noqa: B018


@pytest.mark.parametrize(
    "change", [{"mirostat": 3}, {"samplers": ("tail_free",)}], ids=["mirostat", "sampler"]
)
def test_what_llama_cpp_does_not_know_is_refused(change: dict[str, Any]) -> None:
    params = SamplingParams(**change)
    with pytest.raises(ChainError):
        CommonSampler(params, N_VOCAB)
    message = r"unknown (mirostat version|sampler type)"
    with driving() as driver, pytest.raises(NativeError, match=message):
        driver.init(0, params)


FAULTS: dict[str, tuple[str, Callable[..., Any], Callable[[Driver], None]]] = {
    "a lazy grammar that does not rest": (
        "grammar_applies",
        lambda sampler: sampler.grammar is not None,
        lambda driver: test_thinking_and_a_grammar_go_together_as_natively(driver, 1, True),
    ),
    "a block that is not ended by hand": (
        "force_reasoning_end",
        lambda _: False,
        lambda driver: test_thinking_and_a_grammar_go_together_as_natively(driver, None, False),
    ),
    "a draft that is not followed": (
        "sample_and_accept_n",
        lambda sampler, outputs, _draft: [sampler.sample(output) for output in outputs],
        test_a_draft_is_followed_to_its_end_or_the_generations,
    ),
    "a clone that begins anew": (
        "clone",
        lambda sampler: CommonSampler(sampler.params, N_VOCAB, VOCAB, grammar=sampler.grammar),
        test_a_copy_goes_on_as_the_one_that_was_copied,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_of_common_sampler_is_seen(
    driver: Driver, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, wrong, grid = FAULTS[fault]
    monkeypatch.setattr(CommonSampler, method, wrong)
    with pytest.raises(AssertionError):
        grid(driver)
