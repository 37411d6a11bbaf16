"""Rules of use: how a program calls samplers. A result that is right by each stage may break one.

A rule that `fails` gives the verdict `misused`. The others are notes, for what may be wanted.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Rule:
    """sentence: what the program does. advice: what to do."""

    sentence: str
    advice: str
    fails: bool = True


RULES = {
    "accepted-twice": Rule(
        "the program accepts each token twice: penalties double and a grammar loses its place",
        "llama_sampler_sample accepts already: leave the second llama_sampler_accept out",
    ),
    "never-accepted": Rule(
        "the program accepts no token, so the stages with a history never act",
        "call llama_sampler_accept after each llama_sampler_apply, or use llama_sampler_sample",
    ),
    "other-history": Rule(
        "the program accepts other tokens than it decodes, so the history is not the text",
        "accept the token that you decode next",
    ),
    "history-gaps": Rule(
        "the program decodes drawn tokens that it does not accept",
        "accept each token that you decode, unless the history is to skip them",
        fails=False,
    ),
    "prompt-twice": Rule(
        "the program accepts the prompt twice, so penalties count its tokens twice",
        "accept only what is new, or reset the chain first",
    ),
    "prompt-not-accepted": Rule(
        "the program accepts its output and not its prompt",
        "accept the tokens of the prompt if penalties or DRY are to see them",
        fails=False,
    ),
    "same-number": Rule(
        "the same random number draws each token: the chain is new or reset each time, with a seed",
        "construct the chain once for a text, or give a seed once",
    ),
    "stream-again": Rule(
        "a reset in the middle of a text begins the random numbers again",
        "reset the chain only between texts",
    ),
    "stream-repeated": Rule(
        "a text goes on with the random numbers of its beginning, from another chain with its seed",
        "give each chain of a text another seed, unless it is to repeat",
        fails=False,
    ),
    "behind-the-draw": Rule(
        "stages stand behind the one that draws: they have no part in the draw, and a sort or cut"
        " may put another token in the place that was drawn",
        "add the stage that draws last",
    ),
    "nothing-selects": Rule(
        "no stage of the chain selects a token",
        "add dist, greedy or mirostat as the last stage",
    ),
    "token-refused": Rule(
        "the program accepts a token that the grammar refuses",
        "accept only tokens that were drawn behind the grammar; it takes no prompt",
    ),
    "trigger-refused": Rule(
        "a text triggers the lazy grammar that cannot begin it",
        "let the grammar begin with the text that its trigger matches",
    ),
    "shared-chain": Rule(
        "several sequences share one chain, so each sees the history of all",
        "construct or clone a chain for each sequence",
    ),
    "null-sampler": Rule(
        "the program adds a null sampler to a chain",
        "check what the initializer returns: NULL stands for arguments that it refuses",
    ),
    "freed-member": Rule(
        "the program frees a sampler that its chain still uses",
        "free the chain alone, which owns its members, or llama_sampler_chain_remove it first",
    ),
    "freed-sampler": Rule(
        "the program uses a sampler that it freed",
        "free a sampler after its last use",
    ),
    "aborted": Rule(
        "llama.cpp aborted the program in a call of this sampler",
        "read the text of the abort",
    ),
    "same-clone": Rule(
        "a chain and its clone draw with the same random numbers",
        "add a stage with another seed to the clone, unless both are to draw alike",
        fails=False,
    ),
    "no-effect": Rule(
        "a parameter has no effect, because an earlier stage leaves a single token",
        "leave it out, or the stage that decides alone",
        fails=False,
    ),
}


class Breach(NamedTuple):
    """numbers: what proves it. step: the first place; None for the present step of the chain."""

    rule: str
    numbers: dict[str, Any]
    step: int | None = None


@dataclass(frozen=True)
class Misuse:
    """The first breach of a rule by the use of a chain. step: of the chain, from 0; None if it has
    none. numbers: what proves it."""

    rule: str
    step: int | None
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        return RULES[self.rule].fails

    @property
    def text(self) -> str:
        """Return the rule, what proves it, and what to do, in a line."""
        rule = RULES[self.rule]
        proof = ", ".join(f"{key} {_shown(value)}" for key, value in self.numbers.items())
        return f"{self.rule}: {rule.sentence}{f' ({proof})' if proof else ''}; {rule.advice}"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)
