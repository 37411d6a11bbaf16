"""grammar, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, Vocab
from sampler_parity.reference.grammar import COMPLETE, Decoded, Kind, Machine, State, parse
from sampler_parity.reference.grammar.strict import strictly_allowed
from sampler_parity.reference.grammar.utf8 import Partial
from sampler_parity.reference.samplers.grammar import Grammar, Matcher


class NotAdvanced(Grammar):
    """Accepted tokens do not move the grammar on."""

    def accept(self, token: int) -> None:
        pass


class NotReset(Grammar):
    """reset leaves the grammar where it is."""

    def reset(self) -> None:
        pass


class CloneStartsAgain(Grammar):
    """A clone stands at the beginning of the grammar."""

    def clone(self) -> "Grammar":
        twin = super().clone()
        twin.reset()
        return twin


class EndNotAllowed(Grammar):
    """An end of generation is masked even where the text may end."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.matcher is not None:
            ends = np.isin(cand.ids, list(self.matcher.vocab.eog))
            cand.logits = np.where(ends, np.float32(-np.inf), cand.logits)


class EndAlwaysAllowed(Grammar):
    """An end of generation is left everywhere."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits
        super().apply(cand)
        if self.matcher is not None:
            ends = np.isin(cand.ids, list(self.matcher.vocab.eog))
            cand.logits = np.where(ends, before, cand.logits)


class OnlyEosEnds(Grammar):
    """EOS is the only token that counts as an end."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.matcher is not None:
            others = list(self.matcher.vocab.eog - {self.matcher.vocab.eos})
            cand.logits = np.where(np.isin(cand.ids, others), np.float32(-np.inf), cand.logits)


class RemovesWhatDoesNotFit(Grammar):
    """Tokens that do not fit are removed instead of masked."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.keep(cand.logits != -np.inf)


class FirstStackOnly(Grammar):
    """Of several ways to read the text so far only the first is kept."""

    def accept(self, token: int) -> None:
        super().accept(token)
        if self.matcher is not None:
            self.matcher.state = State(self.matcher.state.stacks[:1])


class BytesForgotten(Grammar):
    """The bytes of a character that a token begins are forgotten."""

    def accept(self, token: int) -> None:
        super().accept(token)
        if self.matcher is not None:
            self.matcher.partial = COMPLETE


class _Own(Machine):
    """A machine whose fault a class below names."""


class _FirstCharacter(_Own):
    def allows(self, state: State, token: int, decoded: Decoded) -> bool:
        return super().allows(state, token, Decoded(decoded.code_points[:1], decoded.partial))


class _WholeCharacters(_Own):
    def may_stop(self, state: State, partial: Partial) -> bool:
        return partial.n_remain == 0 and super().may_stop(state, partial)


class _NegationForgotten(_Own):
    def _match(self, position: int, code_point: int) -> tuple[bool, int]:
        matches, behind = super()._match(position, code_point)
        negated = self.elements[position].kind == Kind.CHAR_NOT
        return matches != negated, behind


class _TokensByText(_Own):
    def _expects(self, state: State, token: int) -> bool:
        return False


class WithMachine(Grammar):
    """A grammar on a machine of another class."""

    machine: type[Machine]

    def __init__(
        self, grammar_str: Any, grammar_root: Any = "root", vocab: Vocab | None = None
    ) -> None:
        super().__init__(grammar_str, grammar_root, vocab)
        if self.matcher is not None and vocab is not None:
            made = self.machine(parse(grammar_str, grammar_root, vocab))
            self.matcher = Matcher(made, vocab)


class FirstCharacterOnly(WithMachine):
    """Only the first character of a token is looked at."""

    machine = _FirstCharacter


class WholeCharactersOnly(WithMachine):
    """Tokens that end inside a character are masked."""

    machine = _WholeCharacters


class NegationForgotten(WithMachine):
    """[^...] is read as [...]."""

    machine = _NegationForgotten


class TokenRulesForgotten(WithMachine):
    """<[id]> fits no token."""

    machine = _TokensByText


class OnceInsteadOfOften(Grammar):
    """item* is read as item?."""

    def __init__(
        self, grammar_str: Any, grammar_root: Any = "root", vocab: Vocab | None = None
    ) -> None:
        text = grammar_str.replace("*", "?") if isinstance(grammar_str, str) else grammar_str
        super().__init__(text, grammar_root, vocab)


class RootIgnored(Grammar):
    """The grammar begins with its first rule, whatever the root is."""

    def __init__(
        self, grammar_str: Any, grammar_root: Any = "root", vocab: Vocab | None = None
    ) -> None:
        if isinstance(grammar_str, str) and "::=" in grammar_str:
            grammar_root = grammar_str.split("::=")[0].split("\n")[-1].strip()
        super().__init__(grammar_str, grammar_root, vocab)


class ReadsStrictly(Grammar):
    """Texts are read strictly as UTF-8: a difference that is explained is none the less one."""

    def apply(self, cand: Candidates) -> None:
        matcher = self.matcher
        if matcher is not None:
            allowed = strictly_allowed(matcher.machine, matcher.vocab, tuple(matcher.accepted))[
                cand.ids
            ]
            cand.logits = np.where(allowed, cand.logits, np.float32(-np.inf))


class OneBitFlipped(ReadsStrictly):
    """As a strict reading of UTF-8, but for one bit of the mask."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        if self.matcher is not None:
            was_masked = cand.logits[0] == -np.inf
            cand.logits[0] = before[0] if was_masked else np.float32(-np.inf)


MUTANTS = [
    Mutant("grammar/not-advanced", NotAdvanced, case="grammar/end-and-only-end"),
    Mutant(
        "grammar/not-reset", NotReset, case="grammar/inside-characters/bpe-longest-accepted-0-reset"
    ),
    Mutant(
        "grammar/clone-starts-again",
        CloneStartsAgain,
        case="grammar/inside-characters/bpe-longest-accepted-0-clone",
    ),
    Mutant("grammar/end-not-allowed", EndNotAllowed, case="grammar/end-and-only-end"),
    Mutant("grammar/end-always-allowed", EndAlwaysAllowed),
    Mutant("grammar/only-eos-ends", OnlyEosEnds, case="grammar/end-and-only-end"),
    Mutant("grammar/removes-what-does-not-fit", RemovesWhatDoesNotFit),
    Mutant("grammar/first-stack-only", FirstStackOnly, case="grammar/ambiguous"),
    Mutant("grammar/bytes-forgotten", BytesForgotten, case="grammar/inside-characters"),
    Mutant(
        "grammar/first-character-only", FirstCharacterOnly, case="grammar/sorted-and-selected-stay"
    ),
    Mutant("grammar/whole-characters-only", WholeCharactersOnly, case="grammar/inside-characters"),
    Mutant("grammar/negation-forgotten", NegationForgotten),
    Mutant("grammar/token-rules-forgotten", TokenRulesForgotten, case="grammar/tokens"),
    Mutant("grammar/once-instead-of-often", OnceInsteadOfOften),
    Mutant("grammar/reads-strictly", ReadsStrictly, case="grammar/negated-characters"),
    Mutant("grammar/one-bit-flipped", OneBitFlipped),
    Mutant("grammar/root-ignored", RootIgnored, case="grammar/another-root"),
]
