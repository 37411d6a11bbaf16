"""llama.cpp's own pipeline: `common_sampler`, built from the command line's parameters.

Its chain is `default_chain` (reference/pipelines/common_chain.py). A token is

    set_logits, reasoning budget, [grammar if it comes first], chain
    if the grammar was left out: the grammar on that token alone; if it refuses the token,
    set_logits, reasoning budget, grammar, chain: another token

so a refused token has moved the state that apply moves: random streams by another draw, and
mirostat's mu.

A token trie stands in the chain, behind logit_bias, penalties and dry. So it stands behind the
budget, and behind a grammar that comes first. All three mask, and masks commute: a token must pass
each of them. If none does, all logits are -inf. llama.cpp has no trie;
docs/background/token-trie.md describes it.

The grammar itself is not here: it is any object with apply, accept, reset and clone.

Source: common/sampling.cpp at v0.5.0.
Tests: tests/reference/test_common_sampler.py, and _native.py against libllama-common;
    tests/reference/test_token_trie_pipeline.py
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.chain import build_chain
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.pipelines.common_chain import SamplingParams as SamplingParams
from sampler_parity.reference.pipelines.common_chain import default_chain as default_chain
from sampler_parity.reference.pipelines.common_rejection import (
    Proposal,
    accepts,
    masked,
    redrawn,
    rejection_stream,
)
from sampler_parity.reference.pipelines.reasoning_budget import BudgetState, ReasoningBudget
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.token_trie import BEFORE_TRIE, TokenTrie
from sampler_parity.reference.vocab import Vocab

UNLIMITED = 2**31 - 1  # tokens of a reasoning block
SHORTEST_PREV = 32


@dataclass(frozen=True)
class Output:
    """The output of a context for one position.

    logits: float32[n], of the whole vocabulary; float64[n] for the ideal result.
    ids: int32[n], if in-graph samplers left these candidates only.
    p: float32[n] with ids, if they left probabilities.
    token: if they have selected one.
    """

    logits: NDArray[Any]
    ids: NDArray[np.int32] | None = None
    p: NDArray[Any] | None = None
    token: int | None = None

    def candidates(self) -> Candidates:
        """Return candidates as `common_sampler::set_logits`: not sorted, nothing selected."""
        cand = Candidates.from_logits(self.logits, self.logits.dtype)
        if self.ids is not None:
            cand.ids = self.ids.copy()
            if self.p is not None:
                cand.p = self.p.copy()
        return cand


class CommonSampler:
    """llama.cpp's `common_sampler`: chain, grammar, reasoning budget and history.

    vocab: for strings in dry_sequence_breakers, infill, incomplete UTF-8 in the reasoning budget,
    tokens that end a generation, prev_str. None: there are none of these.
    grammar: applied to and accepting generated tokens only, never the prompt's.
    prefill: tokens of the generation prompt that the template has put before the answer. The
    reasoning budget gets them, and the grammar if it needs_prefill (those that llama.cpp makes of a
    JSON schema or of tools, not a user's own) and is not lazy.
    suppress: as in default_chain. Raises ChainError as default_chain and build_chain.
    """

    def __init__(
        self,
        params: SamplingParams,
        n_vocab: int,
        vocab: Vocab | None = None,
        *,
        grammar: Sampler | None = None,
        needs_prefill: bool = False,
        prefill: Sequence[int] = (),
        suppress: Iterable[int] = (),
    ) -> None:
        self.params, self.vocab, self.grammar = params, vocab, grammar
        spec = default_chain(params, n_vocab, suppress=suppress)
        self.chain = build_chain(spec, n_vocab=n_vocab, vocab=vocab)
        self.budget = _reasoning_budget(params, vocab)
        self.rng = rejection_stream(self.chain.samplers)
        self.prev: deque[int] = deque(maxlen=max(SHORTEST_PREV, params.n_prev))
        self._cand: Candidates | None = None
        self.trie: TokenTrie | None = None
        for token in prefill:
            if grammar is not None and needs_prefill and not params.grammar_lazy:
                grammar.accept(token)
            if self.budget is not None:
                self.budget.accept(token)

    def set_token_trie(self, trie: TokenTrie) -> None:
        """Open a span, after the prompt: an accepted token that is no child closes it."""
        self.clear_token_trie()
        names = [sampler.name for sampler in self.chain.samplers]
        leading = (i for i, name in enumerate(names) if name not in BEFORE_TRIE)
        self.chain.samplers.insert(next(leading, len(names)), trie)
        self.trie = trie

    def clear_token_trie(self) -> None:
        if self.trie is not None:
            self.chain.samplers.remove(self.trie)
            self.trie = None

    def sample(self, output: Output, grammar_first: bool = False) -> int:
        """Return a token for the position; it is not accepted.

        A token that an in-graph sampler has selected is taken as it is. Raises UndefinedInputError
        for one with a grammar or a reasoning budget (llama.cpp aborts), and if nothing is selected.
        """
        if output.token is not None:
            return self._take(output, output.token)
        constrain = self.grammar_applies()
        token = self._pass(output, constrain and grammar_first)
        if grammar_first or not constrain or self._fits(token):
            return token
        return self._pass(output, constrain)

    def _take(self, output: Output, token: int) -> int:
        if self.grammar is not None or self.budget is not None:
            raise UndefinedInputError("an in-graph sampler with a grammar or a reasoning budget")
        self._cand = output.candidates()
        at = np.flatnonzero(self._cand.ids == token)
        self._cand.selected = int(at[0]) if len(at) else -1
        return token

    def _pass(self, output: Output, with_grammar: bool) -> int:
        self._cand = cand = output.candidates()
        if self.budget is not None:
            self.budget.apply(cand)
        if with_grammar and self.grammar is not None:
            self.grammar.apply(cand)
        for sampler in self.chain.samplers:
            ends = sampler is self.trie and self.trie.active and self.trie.mode == 0
            sampler.apply(cand)
            if ends:
                break
        if cand.token is None:
            raise UndefinedInputError("the chain selected no token")
        return cand.token

    def _fits(self, token: int) -> bool:
        assert self.grammar is not None
        alone = Candidates.from_logits([1.0])
        alone.ids[0] = token
        self.grammar.apply(alone)
        return bool(alone.logits[0] != -np.inf)

    def grammar_applies(self) -> bool:
        """Return whether the grammar applies: a lazy one rests inside a reasoning block."""
        if self.grammar is None:
            return False
        if self.budget is None or not self.params.grammar_lazy:
            return True
        return self.budget.state in (BudgetState.IDLE, BudgetState.DONE)

    def accept(self, token: int, is_generated: bool) -> None:
        """Accept a token of the prompt (is_generated False) or of an answer. A lazy grammar that
        rested gets the end sequence of the reasoning block, a possible trigger."""
        applies = self.grammar_applies()
        if is_generated and self.budget is not None:
            self.budget.accept(token)
            if self.grammar is not None and not applies and self.budget.state == BudgetState.DONE:
                for end_token in self.budget.end_match or ():
                    self.grammar.accept(end_token)
        if is_generated and self.grammar is not None and applies:
            self.grammar.accept(token)
        self.chain.accept(token)
        self.prev.append(token)

    def sample_and_accept_n(
        self, outputs: Sequence[Output], draft: Sequence[int], grammar_first: bool = False
    ) -> list[int]:
        """Sample and accept along a draft (speculative decoding); return 1 to len(outputs) tokens.

        It ends with the first token that differs from the draft's, or that ends the generation
        before the draft's last. After the whole draft it samples one more. outputs: one more than
        the draft. Raises ValueError for another number of outputs, UndefinedInputError as sample.
        """
        if len(outputs) != len(draft) + 1:
            raise ValueError(
                f"a draft of {len(draft)} needs {len(draft) + 1} outputs, got {len(outputs)}"
            )
        eog = self.vocab.eog if self.vocab is not None else frozenset()
        tokens: list[int] = []
        for i, output in enumerate(outputs):
            token = self.sample(output, grammar_first)
            self.accept(token, True)
            tokens.append(token)
            if i < len(draft) and (token != draft[i] or (token in eog and i + 1 < len(draft))):
                break
        return tokens

    def sample_and_accept_n_rejection(
        self,
        outputs: Sequence[Output],
        draft: Sequence[int],
        draft_q: Sequence[Proposal],
        grammar_first: bool = False,
    ) -> list[int]:
        """Sample and accept along a draft by rejection, as newer releases do (common_rejection.py).

        Returns 1 to len(outputs) tokens, all accepted. Raises ValueError for numbers of outputs or
        proposals that do not fit the draft, UndefinedInputError as sample.
        """
        if len(outputs) != len(draft) + 1 or len(draft_q) != len(draft):
            counts = f"{len(outputs)} outputs and {len(draft_q)} proposals"
            raise ValueError(f"{counts} for a draft of {len(draft)}")
        tokens: list[int] = []
        for output, drafted, proposal in zip(outputs, draft, draft_q, strict=False):
            sampled = self.sample(output, grammar_first)
            cand = self.get_candidates(do_sort=True)
            grammar = None if grammar_first or not self.grammar_applies() else self.grammar
            p = cand.p if grammar is None else masked(cand, grammar)
            stays = accepts(cand.ids, p, drafted, proposal, self.rng)
            replacement = None if stays else redrawn(cand.ids, p, proposal, self.rng)
            tokens.append(drafted if stays else sampled if replacement is None else replacement)
            self.accept(tokens[-1], True)
            if not stays:
                return tokens
        tokens.append(self.sample(outputs[-1], grammar_first))
        self.accept(tokens[-1], True)
        return tokens

    def force_reasoning_end(self) -> bool:
        """Return whether a reasoning block now ends: `common_sampler_reasoning_budget_force`."""
        return self.budget is not None and self.budget.force()

    def get_candidates(self, do_sort: bool = False) -> Candidates:
        """Return the candidates that the last sample left, in place.

        do_sort: by p, unless known to be sorted by logits. Raises UndefinedInputError before a
        sample (also for a clone: llama.cpp's points into the original's memory), and if they would
        be sorted with p NaN or nothing selected.
        """
        cand = self._cand
        if cand is None:
            raise UndefinedInputError("no candidates: nothing has been sampled")
        if do_sort and not cand.sorted:
            if cand.selected < 0 or np.isnan(cand.p).any():
                raise UndefinedInputError("candidates without a selection, or with p NaN, to sort")
            token = cand.token
            cand.keep(sorting.std_sort(cand.p))
            cand.selected = int(np.flatnonzero(cand.ids == token)[0])
            cand.sorted = True
        return cand

    @property
    def last(self) -> int:
        """The token accepted last. Raises UndefinedInputError if there is none."""
        if not self.prev:
            raise UndefinedInputError("no token has been accepted (llama.cpp throws)")
        return self.prev[-1]

    def prev_str(self, n: int) -> bytes:
        """Return the text of the last n accepted tokens that are remembered."""
        if self.vocab is None:
            raise ValueError("prev_str needs a vocabulary")
        tokens = list(self.prev)[-n:] if n > 0 else []
        return b"".join(self.vocab.piece(token, special=True) for token in tokens)

    def reset(self) -> None:
        """Reset history and chain; not grammar, reasoning budget or rejection's stream."""
        self.prev.clear()
        self.chain.reset()

    def clone(self) -> "CommonSampler":
        """Return an independent sampler in the same state, without candidates."""
        twin = CommonSampler.__new__(CommonSampler)
        twin.params, twin.vocab, twin._cand = self.params, self.vocab, None
        twin.chain, twin.prev, twin.rng = self.chain.clone(), self.prev.copy(), self.rng.clone()
        tries = [s for s in twin.chain.samplers if isinstance(s, TokenTrie)]
        twin.trie = tries[0] if tries else None
        twin.grammar = None if self.grammar is None else self.grammar.clone()
        twin.budget = None if self.budget is None else self.budget.clone()
        return twin


def _reasoning_budget(params: SamplingParams, vocab: Vocab | None) -> ReasoningBudget | None:
    enabled = params.grammar_lazy or params.reasoning_control or params.reasoning_budget_tokens >= 0
    if not (enabled and params.reasoning_budget_start and params.reasoning_budget_end):
        return None
    tokens = params.reasoning_budget_tokens
    return ReasoningBudget(
        [params.reasoning_budget_start],
        params.reasoning_budget_end,
        params.reasoning_budget_forced,
        UNLIMITED if tokens < 0 else tokens,
        vocab=vocab,
    )


def prefill_tokens(prompt: str, tokens: Sequence[int], vocab: Vocab) -> list[int]:
    """Return the tokens of a generation prompt that go to the reasoning budget and the grammar.

    Only a first token is left out that begins with a space which the prompt does not begin with
    (SentencePiece puts one before a special token).
    """
    if tokens and _begins_blank(vocab.piece(tokens[0], special=True)):
        return list(tokens[0 if _begins_blank(prompt.encode()) else 1 :])
    return list(tokens)


def _begins_blank(text: bytes) -> bool:
    return text[:1] in (b" ", b"\t", b"\n", b"\v", b"\f", b"\r")
