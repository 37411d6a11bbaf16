"""The reasoning budget: a limit on the tokens of a reasoning block, e.g. from <think> to </think>.

    IDLE: watches for a start sequence                                  -> COUNTING
    COUNTING: a token costs 1; an end sequence completes                -> DONE
    or: the budget is spent                                             -> FORCING, WAITING_UTF8
    WAITING_UTF8: an end sequence completes                             -> DONE
    or: a token's piece is complete UTF-8                               -> FORCING
    FORCING: apply masks all but the next forced token with -inf;
             after as many tokens as are forced                         -> DONE
    DONE: a start sequence begins another block, whole budget           -> COUNTING

If COUNTING begins with a budget <= 0, it is FORCING. The longest of the sequences that end with a
token is the one that completes; its tokens count for no other. Only FORCING changes logits.

Parameters:
    start, end: token lists; empty and repeated ones are left out. No start: IDLE stays.
    forced_tokens: token list: message and end sequence. Empty: the next token passes, then DONE.
    budget: int32, tokens of a block.
    state: the first state, default IDLE.
    vocab: for the pieces; None: every token is complete.
Ties: none to break; `sorted` is not cleared.
Edges: the piece is one token's, not the text's so far: a token that holds only the end of a
    character, as byte tokens do, is never complete, though it completes the character. So the wait
    takes a token more, and lasts as long as the model writes in such tokens. An end sequence that
    is half written when the budget ends is forgotten. FORCING counts any token, forced or not. Only
    a sequence that ends with the last forced token is the end match. A forced token that is no
    candidate leaves only -inf. reset always goes to IDLE, not to the first state.
Source: common/reasoning-budget.cpp, token_matcher included, and common_utf8_is_complete
    (common/unicode.cpp) at v0.5.0.
Tests: tests/reference/test_reasoning_budget.py
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.vocab import Vocab

Tokens = tuple[int, ...]


class BudgetState(IntEnum):
    """REASONING_BUDGET_*."""

    IDLE = 0
    COUNTING = 1
    FORCING = 2
    WAITING_UTF8 = 3
    DONE = 4


class ReasoningBudget:
    name = "reasoning-budget"

    def __init__(
        self,
        start: Sequence[Sequence[int]],
        end: Sequence[Sequence[int]],
        forced_tokens: Sequence[int],
        budget: int,
        state: BudgetState = BudgetState.IDLE,
        vocab: Vocab | None = None,
    ) -> None:
        self.start, self.end = SequenceMatcher(start), SequenceMatcher(end)
        self.forced_tokens = tuple(int32("forced_tokens", token) for token in forced_tokens)
        self.budget = self.remaining = int32("budget", budget)
        spent = state == BudgetState.COUNTING and self.budget <= 0
        self.state = BudgetState.FORCING if spent else state
        self.vocab = vocab
        self.force_pos = 0
        self.end_match: Tokens | None = None  # the end sequence that led to DONE

    def apply(self, cand: Candidates) -> None:
        if self.state == BudgetState.FORCING and self.force_pos < len(self.forced_tokens):
            forced = self.forced_tokens[self.force_pos]
            cand.logits = np.where(cand.ids == forced, cand.logits, cand.logits.dtype.type(-np.inf))

    def accept(self, token: int) -> None:
        if self.state in (BudgetState.IDLE, BudgetState.DONE):
            if self.start.advance(token) is not None:
                self._begin()
        elif self.state == BudgetState.FORCING:
            match = self.end.advance(token)
            self.force_pos += 1
            if self.force_pos >= len(self.forced_tokens):
                self.state, self.end_match = BudgetState.DONE, match
        else:
            self._count(token)

    def _begin(self) -> None:
        self.end.reset()
        self.end_match = None
        self.remaining = self.budget
        self.state = BudgetState.COUNTING
        if self.budget <= 0:
            self._force()

    def _count(self, token: int) -> None:
        match = self.end.advance(token)
        if match is not None:
            self.state, self.end_match = BudgetState.DONE, match
            return
        complete = self._is_complete(token)
        if self.state == BudgetState.COUNTING:
            self.remaining -= 1
            if self.remaining > 0:
                return
        if complete:
            self._force()
        elif self.state == BudgetState.COUNTING:
            self.state = BudgetState.WAITING_UTF8
            self.end.reset()

    def _force(self) -> None:
        self.state, self.force_pos = BudgetState.FORCING, 0
        self.end.reset()

    def _is_complete(self, token: int) -> bool:
        if self.vocab is None:
            return True
        if not 0 <= token < len(self.vocab):
            raise UndefinedInputError(f"token {token} is not in the vocabulary (llama.cpp aborts)")
        return is_complete_utf8(self.vocab.piece(token))

    def force(self) -> bool:
        """Begin forcing now; `common_reasoning_budget_force`. False, and nothing done, if not
        COUNTING."""
        if self.state != BudgetState.COUNTING:
            return False
        self._force()
        return True

    def reset(self) -> None:
        self.state = BudgetState.IDLE
        self.remaining = self.budget
        self.force_pos = 0
        self.end_match = None
        self.start.reset()
        self.end.reset()

    def clone(self) -> "ReasoningBudget":
        twin = ReasoningBudget(
            self.start.sequences, self.end.sequences, self.forced_tokens, self.budget,
            self.state, self.vocab,
        )  # fmt: skip
        twin.state, twin.remaining = self.state, self.remaining
        twin.force_pos, twin.end_match = self.force_pos, self.end_match
        twin.start.seen, twin.end.seen = self.start.seen, self.end.seen
        return twin


class SequenceMatcher:
    """Find after each token the longest sequence that has just been completed."""

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        checked = [tuple(int32("token", token) for token in sequence) for sequence in sequences]
        self.sequences = list(dict.fromkeys(sequence for sequence in checked if sequence))
        self.longest = max(map(len, self.sequences), default=0)
        self.seen: Tokens = ()  # since the last match, as far as it can matter

    def advance(self, token: int) -> Tokens | None:
        tail = (*self.seen, token)
        self.seen = tail[-self.longest :] if self.longest else ()
        ended = [s for s in self.sequences if self.seen[-len(s) :] == s]
        if not ended:
            return None
        self.seen = ()
        return max(ended, key=len)

    def reset(self) -> None:
        self.seen = ()


def is_complete_utf8(piece: bytes) -> bool:
    """Return whether the last character of a piece is whole; `common_utf8_is_complete`. True for no
    bytes; False if the last four, or all, are continuation bytes."""
    for length, byte in enumerate(reversed(piece[-4:]), start=1):
        if byte & 0xC0 != 0x80:
            expected = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return length >= expected
    return not piece
