"""grammar: keep only tokens with which the text can still match the grammar.

All other tokens get logit -inf. An end-of-generation token stays exactly if the text may end there.
A token without text never stays, and neither does a token whose text begins with a NUL.

Parameters:
    `grammar_str`   GBNF (reference/grammar/parser.py). An empty string is no constraint.
    `grammar_root`  The rule that a text begins with. Default `root`.
    The sampler needs a vocabulary (`build_chain(..., vocab=...)`).
Ties: there are none to break; `sorted` and the selected token do not change.
Edges: a token may end inside a UTF-8 character if some character with this beginning fits. For
    `[^...]` it may end there only if all of them fit. A token that the grammar names by its id
    (`<[5]>`) stays wherever the rule can come next. This includes the middle of another token's
    text, but accept then refuses it. Accepted tokens are not checked against the candidates. Accept
    refuses a token that does not fit, an end-of-generation token at a place where the text may not
    end, and ids outside the vocabulary (llama.cpp throws or aborts). It also refuses a grammar
    above `MAX_NESTING` or `MAX_ELEMENTS` (parser.py), `MAX_CHAIN` (rules.py) or `MAX_STACKS`
    (stacks.py), which llama.cpp would take. No candidates: nothing happens.
Source: `llama_sampler_grammar_*`, src/llama-sampler.cpp, `llama_grammar_apply_impl` and
    `_accept_impl`, src/llama-grammar.cpp at v0.5.0.
Suite: suites/grammar/grammar.toml
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.grammar import (
    COMPLETE,
    Decoded,
    Machine,
    Partial,
    Prefix,
    State,
    allowed,
    decode,
    parse,
    tree_of,
)
from sampler_parity.reference.vocab import Vocab


class Grammar:
    name = "grammar"

    def __init__(
        self, grammar_str: Any, grammar_root: Any = "root", vocab: Vocab | None = None
    ) -> None:
        self.matcher = matcher_of(grammar_str, grammar_root, vocab)

    def apply(self, cand: Candidates) -> None:
        if self.matcher is not None:
            self.matcher.apply(cand)

    def accept(self, token: int) -> None:
        if self.matcher is not None:
            self.matcher.accept(token)

    def reset(self) -> None:
        if self.matcher is not None:
            self.matcher.reset()

    def clone(self) -> "Grammar":
        twin = Grammar.__new__(Grammar)
        twin.matcher = None if self.matcher is None else self.matcher.clone()
        return twin


class Matcher:
    """A grammar over the tokens of a vocabulary, and where in it a text stands.

    accepted: the tokens of the text, for those who read them in another way (grammar/strict.py).
    """

    def __init__(self, machine: Machine, vocab: Vocab) -> None:
        self.machine, self.vocab = machine, vocab
        self.state: State = machine.start
        self.partial = COMPLETE
        self.accepted: list[int] = []

    def apply(self, cand: Candidates) -> None:
        if len(cand) * 8 < len(self.vocab):
            allowed = np.array([self.allows(token) for token in cand.ids.tolist()], np.bool_)
        else:
            for token in (cand.ids.min(), cand.ids.max()):
                self._check(token)
            allowed = _allowed(self.machine, self.state, self.vocab, self._start)[cand.ids]
        cand.logits = np.where(allowed, cand.logits, cand.logits.dtype.type(-np.inf))

    def allows(self, token: int) -> bool:
        self._check(token)
        decoded = decode(self.vocab.pieces[token], self._start)
        return _allows(self.machine, self.state, self.vocab, token, decoded)

    def accept(self, token: int) -> None:
        self._check(token)
        if token not in self.vocab.eog:
            self.accept_piece(token, decode(self.vocab.pieces[token], self._start))
        elif not self.state.may_end:
            raise UndefinedInputError(f"token {token} ends an incomplete text (llama.cpp aborts)")
        self.accepted.append(token)

    def accept_piece(self, token: int, decoded: Decoded) -> None:
        """Accept a text. decoded: the token's text, or a part of it, from `partial` on."""
        state = self.machine.accept_token(self.state, token, decoded)
        if not state.stacks:
            raise UndefinedInputError(f"token {token} does not fit the grammar (llama.cpp throws)")
        self.state, self.partial = state, decoded.partial

    def reset(self) -> None:
        self.state, self.partial = self.machine.start, COMPLETE
        self.accepted.clear()

    def clone(self) -> "Matcher":
        twin = Matcher(self.machine, self.vocab)
        twin.state, twin.partial = self.state, self.partial
        twin.accepted = list(self.accepted)
        return twin

    @property
    def _start(self) -> Partial:
        return self.partial if self.partial.n_remain > 0 else COMPLETE

    def _check(self, token: int) -> None:
        if not 0 <= token < len(self.vocab):
            raise UndefinedInputError(f"token {token} is not in the vocabulary (llama.cpp aborts)")


def _allows(machine: Machine, state: State, vocab: Vocab, token: int, decoded: Decoded) -> bool:
    if token in vocab.eog:
        return state.may_end
    if vocab.pieces[token][:1] in (b"", b"\0"):
        return False
    return machine.allows(state, token, decoded)


@functools.lru_cache(maxsize=512)
def _allowed(machine: Machine, state: State, vocab: Vocab, start: Partial) -> NDArray[np.bool_]:
    """Return for every token whether it may follow: `_allows` for all of them."""
    result = np.zeros(len(vocab), np.bool_)
    result[list(allowed(machine, state, _texts(vocab, start)))] = True
    result[[token for token in vocab.eog if token < len(vocab)]] = state.may_end
    return result


@functools.lru_cache(maxsize=8)
def _texts(vocab: Vocab, start: Partial) -> Prefix:
    return tree_of(
        (token, decode(piece, start))
        for token, piece in enumerate(vocab.pieces)
        if token not in vocab.eog and piece[:1] not in (b"", b"\0")
    )


@functools.lru_cache(maxsize=64)
def _machine(grammar_str: str, grammar_root: str, vocab: Vocab) -> Machine:
    return Machine(parse(grammar_str, grammar_root, vocab))


def matcher_of(grammar_str: Any, grammar_root: Any, vocab: Vocab | None) -> Matcher | None:
    """Return the matcher, or None for the empty grammar. Raises ChainError for a bad grammar, with
    line and column."""
    for name, value in (("grammar_str", grammar_str), ("grammar_root", grammar_root)):
        if not isinstance(value, str):
            raise ChainError(f"{name} must be a string, got {value!r}")
    if vocab is None:
        raise ChainError("grammar needs a vocabulary (vocab)")
    if not grammar_str:
        return None
    try:
        return Matcher(_machine(grammar_str, grammar_root, vocab), vocab)
    except (ChainError, UndefinedInputError) as error:
        raise ChainError(f"grammar_str: {error}") from None
