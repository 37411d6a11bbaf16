"""grammar_lazy_patterns, wrong in one way each."""

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.grammar.triggers import Trigger
from sampler_parity.reference.samplers.grammar_lazy_patterns import GrammarLazyPatterns


class NotLazy(GrammarLazyPatterns):
    """It constrains from the beginning on."""

    def apply(self, cand: Candidates) -> None:
        if self.matcher is not None:
            self.matcher.apply(cand)


class NeverAwakes(GrammarLazyPatterns):
    """Triggers are not looked for."""

    def accept(self, token: int) -> None:
        pass


class TriggerLeftOut(GrammarLazyPatterns):
    """The grammar begins behind the trigger instead of with it."""

    def _replay(self, start: int) -> None:
        pass


class WholeTokensReplayed(GrammarLazyPatterns):
    """A token in which the trigger begins is replayed as a whole."""

    def _replay(self, start: int) -> None:
        begins = [begin for _, begin, end in self.tokens if end > start]
        super()._replay(min([start, *begins]))


class MatchForGroup(GrammarLazyPatterns):
    """The grammar begins with the match, not with its first group."""

    def _collect(self, token: int) -> None:
        self.triggers = [_WithoutGroups(trigger.pattern) for trigger in self.triggers]
        super()._collect(token)


class _WithoutGroups(Trigger):
    def find(self, text: bytes) -> int | None:
        return Trigger(self.pattern.replace("(?:", "(").replace("(", "(?:")).find(text)


class StaysAwake(GrammarLazyPatterns):
    """reset leaves it awake."""

    def reset(self) -> None:
        awaiting: bool = getattr(self, "awaiting", True)
        super().reset()
        self.awaiting = awaiting


class TriggerTokensForgotten(GrammarLazyPatterns):
    """Trigger tokens are text like others."""

    def accept(self, token: int) -> None:
        self.trigger_tokens = frozenset()
        super().accept(token)


MUTANTS = [
    Mutant("grammar_lazy_patterns/not-lazy", NotLazy),
    Mutant("grammar_lazy_patterns/never-awakes", NeverAwakes),
    Mutant("grammar_lazy_patterns/trigger-left-out", TriggerLeftOut),
    Mutant(
        "grammar_lazy_patterns/whole-tokens-replayed",
        WholeTokensReplayed,
        case="grammar_lazy_patterns/group-inside-a-token",
    ),
    Mutant(
        "grammar_lazy_patterns/match-for-group",
        MatchForGroup,
        case="grammar_lazy_patterns/pattern-with-groups/bpe-longest-rejected-0",
    ),
    Mutant(
        "grammar_lazy_patterns/stays-awake",
        StaysAwake,
        case="grammar_lazy_patterns/token-before-pattern/bpe-longest-accepted-0-reset",
    ),
    Mutant(
        "grammar_lazy_patterns/trigger-tokens-forgotten",
        TriggerTokensForgotten,
        case="grammar_lazy_patterns/trigger-tokens",
    ),
]
