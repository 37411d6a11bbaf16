"""The reasoning budget: its rules by hand, and step by step against libllama-common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.pipelines.reasoning_budget import (
    BudgetState,
    ReasoningBudget,
    is_complete_utf8,
)
from tests.support.examples import examples
from tests.support.native_common import Driver, NativeError, driving

START, END, MESSAGE = (1, 2), (3, 4), 9
N_VOCAB = 12  # tokens of the machines without a vocabulary
BPE = vocab_path("bpe")
E_ACUTE, IN_EURO = (0xC3, 0xA9), (0xE2, 0x82, 0xAC)  # of é and €: token b is byte b


@pytest.fixture
def driver() -> Iterator[Driver]:
    with driving() as driver:
        yield driver


def budget_of(n: int, state: BudgetState = BudgetState.IDLE, **other: Any) -> ReasoningBudget:
    return ReasoningBudget([START], [END], [MESSAGE, *END], n, state, **other)


def states(budget: ReasoningBudget, tokens: Sequence[int]) -> str:
    """The first letter of the state after each token."""
    letters = ""
    for token in tokens:
        budget.accept(token)
        letters += budget.state.name[0]
    return letters


@pytest.mark.parametrize(
    ("budget", "tokens", "expected"),
    [
        (3, [7, 1, 2, 7, 7, 7], "IICCCF"),
        (3, [1, 1, 2], "IIC"),
        (3, [1, 2, 7, 3, 4, 7], "ICCCDD"),
        (3, [1, 2, 7, 7, 3, 4], "ICCCFF"),
        (4, [1, 2, 7, 7, 3, 4], "ICCCCD"),
        (0, [1, 2, 9, 3, 4], "IFFFD"),
        (-1, [1, 2], "IF"),
        (1, [1, 2, 7, 9, 3, 4], "ICFFFD"),
        (1, [1, 2, 7, 5, 5, 5], "ICFFFD"),
        (2, [1, 2, 3, 4, 1, 2, 7, 7, 9, 3, 4], "ICCDDCCFFFD"),
    ],
    ids=[
        "counts after the start sequence",
        "start sequence after a false start",
        "end sequence ends it",
        "end sequence begun with the last token of the budget is too late",
        "end sequence completed by the last token of the budget",
        "no budget forces at once",
        "negative budget too",
        "forced tokens end it",
        "any tokens in their number end it",
        "another block has the whole budget again",
    ],
)
def test_budget_goes_through_its_states(budget: int, tokens: list[int], expected: str) -> None:
    assert states(budget_of(budget), tokens) == expected


def test_budget_masks_only_while_forcing_and_all_but_the_forced_token() -> None:
    budget = budget_of(1, BudgetState.COUNTING)
    masked = []
    for token in (7, 9, 3, 4):
        cand = Candidates.from_logits(np.zeros(10))
        budget.apply(cand)
        masked.append(np.flatnonzero(cand.logits == 0).tolist())
        budget.accept(token)
    assert masked == [list(range(10)), [9], [3], [4]]
    assert budget.end_match == END


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([*b"a", *E_ACUTE, *b"b"], "CWWF"),
        ([*b"ab"], "CF"),
        ([*b"a", *IN_EURO, *IN_EURO, *b"b"], "CWWWWWWF"),
    ],
    ids=["é, bytes", "ascii", "€€, bytes"],
)
@pytest.mark.slow
def test_budget_waits_beyond_the_end_of_a_character_of_byte_tokens(
    driver: Driver, tokens: list[int], expected: str
) -> None:
    """The last byte completes é, but by itself it is no complete UTF-8: one token more."""
    budget = budget_of(2, BudgetState.COUNTING, vocab=read_vocab(BPE))
    assert states(budget, tokens) == expected
    driver.ask("budget", 0, True, [START], [END], [MESSAGE, *END], 2, int(BudgetState.COUNTING))
    native = ""
    for token in tokens:
        driver.ask("budget_accept", 0, token)
        native += BudgetState(driver.budget_state(0).state).name[0]
    assert native == expected


@pytest.mark.parametrize(
    ("piece", "complete"),
    [
        (b"", True), (b"a", True), (b"\xc3", False), (b"\xc3\xa9", True), (b"\xa9", False),
        (b"\xe2\x82", False), (b"\xe2\x82\xac", True), (b"\xf0\x9f\x98", False),
        (b"\xf0\x9f\x98\x80", True), (b"a\xe2", False), (b"\xc3\xa9\xa9\xa9\xa9", False),
        (b"\xff\x80\x80\x80", True), (b"a\x80", True), (b"\xc3\xa9a", True),
    ],
)  # fmt: skip
def test_utf8_is_complete_by_its_last_lead_byte(piece: bytes, complete: bool) -> None:
    assert is_complete_utf8(piece) == complete


def test_budget_refuses_a_token_that_is_none(driver: Driver) -> None:
    budget = budget_of(5, BudgetState.COUNTING, vocab=read_vocab(BPE))
    with pytest.raises(UndefinedInputError, match=r"^token 303 is not in the vocabulary"):
        budget.accept(303)
    driver.ask("budget", 0, True, [START], [END], [9], 5, int(BudgetState.COUNTING))
    with pytest.raises(NativeError):
        driver.ask("budget_accept", 0, 303)


@pytest.mark.parametrize("n", [0, -1])
def test_a_budget_that_counts_without_any_token_left_forces_at_once(driver: Driver, n: int) -> None:
    budget = budget_of(n, BudgetState.COUNTING)
    driver.ask("budget", 0, False, [START], [END], [MESSAGE, *END], n, int(BudgetState.COUNTING))
    assert budget.state == driver.budget_state(0).state == BudgetState.FORCING


TOKENS = st.integers(0, 2) | st.integers(0, N_VOCAB - 1)
# a few characters as bytes, so that pieces are often incomplete
BYTES = st.sampled_from([*b"ab", *E_ACUTE, *IN_EURO, 0xF0, 0x9F, 256, 300])


@dataclass
class Pair:
    """A budget of the reference and its native twin, by number."""

    reference: ReasoningBudget
    native: int


class BudgetMachine(RuleBasedStateMachine):
    """Any commands, in any order: state, end match and masks stay those of llama.cpp."""

    driver: Driver

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[Pair] = []
        self.wished: list[int] = []
        self.driver.start(BPE)

    @initialize(
        data=st.data(),
        with_vocab=st.booleans(),
        budget=st.integers(-1, 5) | st.just(2**31 - 1),
        state=st.sampled_from(BudgetState),
    )
    def begin(self, data: st.DataObject, with_vocab: bool, budget: int, state: BudgetState) -> None:
        self.tokens = BYTES if with_vocab else TOKENS
        sequence = st.lists(self.tokens, max_size=4).map(tuple)
        start, end = (
            data.draw(st.lists(sequence, max_size=3)),
            data.draw(st.lists(sequence, max_size=3)),
        )
        if data.draw(st.booleans()):
            end += [end_sequence[1:] for end_sequence in end]  # which end where it does
        forced = data.draw(sequence)
        forces_end: bool = data.draw(st.booleans())
        if end and forces_end:
            forced = data.draw(st.sampled_from(end))[data.draw(st.integers(0, 1)) :]
        vocab = read_vocab(BPE) if with_vocab else None
        reference = ReasoningBudget(start, end, forced, budget, state, vocab)
        self.driver.ask("budget", 0, with_vocab, start, end, forced, budget, int(state))
        self.pairs.append(Pair(reference, 0))
        self.wished = [token for s in (*start, *end, forced) for token in s]

    def _draw(self, data: st.DataObject) -> tuple[Pair, int]:
        pair = data.draw(st.sampled_from(self.pairs))
        wished = st.sampled_from(self.wished) if self.wished else self.tokens
        return pair, data.draw(wished | self.tokens)

    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        pair, token = self._draw(data)
        pair.reference.accept(token)
        self.driver.ask("budget_accept", pair.native, token)

    @rule(data=st.data())
    def accept_a_sequence_or_its_beginning(self, data: st.DataObject) -> None:
        pair, _ = self._draw(data)
        matchers = (pair.reference.start, pair.reference.end)
        known = [s for matcher in matchers for s in matcher.sequences] or [()]
        sequence = data.draw(st.sampled_from(known))
        for token in sequence[: data.draw(st.integers(1, 4))]:
            pair.reference.accept(token)
            self.driver.ask("budget_accept", pair.native, token)

    @rule(data=st.data())
    def apply(self, data: st.DataObject) -> None:
        pair, _ = self._draw(data)
        cand = Candidates.from_logits(np.arange(303, dtype=np.float32))
        native = self.driver.budget_apply(pair.native, cand.logits.tolist())
        pair.reference.apply(cand)
        np.testing.assert_array_equal(cand.logits, native.logits)

    @rule(data=st.data())
    def force(self, data: st.DataObject) -> None:
        pair, _ = self._draw(data)
        assert [str(int(pair.reference.force()))] == self.driver.ask("budget_force", pair.native)

    @rule(data=st.data())
    def reset(self, data: st.DataObject) -> None:
        pair, _ = self._draw(data)
        pair.reference.reset()
        self.driver.ask("budget_reset", pair.native)

    @rule(data=st.data())
    def clone(self, data: st.DataObject) -> None:
        pair, _ = self._draw(data)
        twin = len(self.pairs)
        self.driver.ask("budget_clone", pair.native, twin)
        self.pairs.append(Pair(pair.reference.clone(), twin))

    @invariant()
    def states_are_equal(self) -> None:
        for pair in self.pairs:
            native = self.driver.budget_state(pair.native)
            assert (int(pair.reference.state), pair.reference.end_match) == (
                native.state,
                native.end_match,
            )


@pytest.mark.slow
def test_budget_is_llama_cpps_after_any_commands(driver: Driver) -> None:
    limits = settings(
        max_examples=examples(100), stateful_step_count=40, deadline=None, derandomize=True
    )
    machine = type("Machine", (BudgetMachine,), {"driver": driver})
    run_state_machine_as_test(machine, settings=limits)
