"""grammar_lazy_patterns: apply a grammar only after a trigger appears in the text.

Before the trigger, apply does nothing and accept collects the text. A trigger token begins the
grammar with itself. A trigger pattern begins it with its first group that matched, or with the
whole match. The grammar then accepts the tokens from there on; the first one may count only from
its middle on. The sampler looks for the token first. If several patterns are given, the first one
that is found counts.

Parameters:
    `grammar_str`, `grammar_root`  As for grammar.
    `trigger_patterns`  Regular expressions, ECMAScript (reference/grammar/triggers.py). A pattern
                        from ^ to $ is tried on the whole text first, then at any place of it.
    `trigger_tokens`    Token ids.
    `trigger_words`     Words, in place of patterns. The deprecated
                        `llama_sampler_init_grammar_lazy` makes one pattern of them (`of_words`).
                        `common_sampler` makes one pattern of each word (`escaped`).
Ties: as for grammar.
Edges: the text before a trigger has no limit, and every token searches it from its start.
    End-of-generation tokens are part of it, too. Text after the trigger that does not fit the
    grammar is refused (llama.cpp throws). A reset forgets the text and waits for a trigger again.
    Without triggers the grammar never begins. A pattern with different meanings in `std::regex` and
    Python is refused.
Source: `llama_sampler_init_grammar_lazy_patterns`, `llama_sampler_init_grammar_impl`,
    src/llama-sampler.cpp, `llama_grammar_accept_impl`, src/llama-grammar.cpp at v0.5.0.
Suite: suites/grammar/grammar_lazy_patterns.toml
"""

from collections.abc import Sequence
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.grammar.triggers import Trigger, of_words, translated
from sampler_parity.reference.grammar.utf8 import decode
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.samplers.grammar import matcher_of
from sampler_parity.reference.vocab import Vocab


class GrammarLazyPatterns:
    name = "grammar_lazy_patterns"
    awaiting: bool

    def __init__(
        self,
        grammar_str: Any,
        grammar_root: Any = "root",
        trigger_patterns: Any = (),
        trigger_tokens: Any = (),
        vocab: Vocab | None = None,
        trigger_words: Any = (),
    ) -> None:
        self.matcher = matcher_of(grammar_str, grammar_root, vocab)
        patterns = _patterns(trigger_patterns, trigger_words)
        self.triggers = [Trigger(pattern) for pattern in patterns]
        self.trigger_tokens = frozenset(int32("trigger_tokens", t) for t in _list(trigger_tokens))
        self.reset()

    def apply(self, cand: Candidates) -> None:
        if self.matcher is not None and not self.awaiting:
            self.matcher.apply(cand)

    def accept(self, token: int) -> None:
        if self.matcher is None:
            return
        if not self.awaiting:
            self.matcher.accept(token)
        elif token in self.trigger_tokens:
            self.awaiting = False
            self.matcher.accept_piece(token, decode(self.matcher.vocab.pieces[token]))
        else:
            self._collect(token)

    def _collect(self, token: int) -> None:
        assert self.matcher is not None
        if not 0 <= token < len(self.matcher.vocab):
            raise UndefinedInputError(f"token {token} is not in the vocabulary (llama.cpp aborts)")
        piece = self.matcher.vocab.pieces[token]
        self.tokens.append((token, len(self.text), len(self.text) + len(piece)))
        self.text += piece
        for trigger in self.triggers:
            start = trigger.find(self.text)
            if start is not None:
                self.awaiting = False
                self._replay(start)
                return

    def _replay(self, start: int) -> None:
        assert self.matcher is not None
        for token, begin, end in self.tokens:
            if end > start:
                piece = self.text[max(begin, start) : end]
                self.matcher.accept_piece(token, decode(piece, self.matcher.partial))

    def reset(self) -> None:
        self.awaiting = True
        self.text = b""
        self.tokens: list[tuple[int, int, int]] = []
        if self.matcher is not None:
            self.matcher.reset()

    def clone(self) -> "GrammarLazyPatterns":
        twin = GrammarLazyPatterns.__new__(GrammarLazyPatterns)
        twin.matcher = None if self.matcher is None else self.matcher.clone()
        twin.triggers, twin.trigger_tokens = self.triggers, self.trigger_tokens
        twin.awaiting, twin.text, twin.tokens = self.awaiting, self.text, list(self.tokens)
        return twin


def _list(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise ChainError(f"trigger_tokens must be a list, got {values!r}")
    return values


def _patterns(patterns: Any, words: Any) -> Sequence[str]:
    for name, values in (("trigger_patterns", patterns), ("trigger_words", words)):
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            raise ChainError(f"{name} must be a list of strings, got {values!r}")
    if patterns and words:
        raise ChainError("give either trigger_words or trigger_patterns, not both")
    regexes: Sequence[str] = [of_words(list(words))] if words else patterns
    for pattern in regexes:
        translated(pattern)
    return regexes
