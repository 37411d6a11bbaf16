"""xgrammar on the rules as llama.cpp reads them, in the syntax of its EBNF.

Its classes accept the bytes of surrogates, which are no UTF-8, as characters: they are left out.
"""

from sampler_parity.engines.shared.grammars.items import (
    SURROGATES,
    Class,
    Item,
    Ranges,
    Rule,
    Token,
    alternatives_of,
)
from sampler_parity.engines.xgrammar import worker as xgrammar
from sampler_parity.reference import Vocab
from sampler_parity.reference.grammar import Rules, parse

_SURROGATES = (SURROGATES.start, SURROGATES.stop - 1)


def ebnf_of(rules: Rules) -> str:
    lines = []
    for rule in range(len(rules.elements)):
        alternatives = (
            " ".join(map(_shown, items)) or '""' for items in alternatives_of(rules, rule)
        )
        lines.append(f"r{rule} ::= " + " | ".join(alternatives))
    return "\n".join(lines)


def _shown(item: Item) -> str:
    match item:
        case Rule(number):
            return f"r{number}"
        case Token(number, positive):
            return f"{'Token' if positive else 'ExcludeToken'}({number})"
        case Class(ranges, positive):
            included = _around(ranges) if positive else (*ranges, _SURROGATES)
            shown = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in included)
            return f"[{'' if positive else '^'}{shown}]"


def _around(ranges: Ranges) -> Ranges:
    """Return the ranges without surrogates; none begins or ends with one."""
    first, last = _SURROGATES
    return tuple(
        part
        for low, high in ranges
        for part in (
            ((low, first - 1), (last + 1, high)) if low < first <= high else ((low, high),)
        )
    )


class Worker(xgrammar.Worker):
    name = "xgrammar/rules"

    def ebnf_of(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> tuple[str, str]:
        rules = parse(grammar_str, grammar_root, vocab)
        return ebnf_of(rules), f"r{rules.root}"
