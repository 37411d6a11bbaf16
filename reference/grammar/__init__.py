"""GBNF, llama.cpp's grammars: text to rules, rules to pushdown stacks, stacks to allowed tokens.

    rules.py: the elements of a grammar, and the check for left recursion
    parser.py: GBNF text -> Rules
    utf8.py: the characters of a token, which may begin or end inside one
    stacks.py: Rules -> the states that a text leads to; a vocabulary as a tree: which of its tokens
        may follow
    triggers.py: the triggers of a lazy grammar

The samplers are reference/samplers/grammar.py and grammar_lazy_patterns.py.
"""

from sampler_parity.reference.grammar.parser import parse
from sampler_parity.reference.grammar.rules import Element, Kind, Rules
from sampler_parity.reference.grammar.stacks import Machine, Prefix, State, allowed, tree_of
from sampler_parity.reference.grammar.utf8 import COMPLETE, Decoded, Partial, decode

__all__ = [
    "COMPLETE",
    "Decoded",
    "Element",
    "Kind",
    "Machine",
    "Partial",
    "Prefix",
    "Rules",
    "State",
    "allowed",
    "decode",
    "parse",
    "tree_of",
]
