"""llguidance on the rules as llama.cpp reads them, each character a lexeme of its own.

Its lexer takes the longest text for a lexeme and never a shorter one; a lexeme of one character
cannot be too long. Its <[^5]> accepts ends of generation, llama.cpp's !<[5]> does not, so they are
added to the class. Differences are therefore due to neither the converter nor the notation.
"""

from sampler_parity.engines.llguidance import worker as llguidance
from sampler_parity.engines.shared.grammars.items import (
    Class,
    Item,
    Rule,
    Token,
    alternatives_of,
)
from sampler_parity.reference import Vocab
from sampler_parity.reference.grammar import Rules, parse


def lark_of(rules: Rules, eog: frozenset[int]) -> str:
    """Write the rules in Lark. eog: the ends of generation."""
    lines = [llguidance.OPTIONS, f"start: r{rules.root}"]
    for rule in range(len(rules.elements)):
        alternatives = (
            " ".join(_shown(item, eog) for item in items) or '""'
            for items in alternatives_of(rules, rule)
        )
        lines.append(f"r{rule}: " + " | ".join(alternatives))
    return "\n".join(lines)


def _shown(item: Item, eog: frozenset[int]) -> str:
    match item:
        case Rule(number):
            return f"r{number}"
        case Token(number, positive):
            return f"<[{number}]>" if positive else f"<[^{_listed({number} | eog)}]>"
        case Class(ranges, positive):
            shown = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
            return f"/[{'' if positive else '^'}{shown}]/"


def _listed(tokens: frozenset[int] | set[int]) -> str:
    return ",".join(map(str, sorted(tokens)))


class Worker(llguidance.Worker):
    name = "llguidance/rules"

    def lark_of(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> str:
        return lark_of(parse(grammar_str, grammar_root, vocab), vocab.eog)
