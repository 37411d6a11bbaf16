"""The strict reading of UTF-8, by hand-made texts: what may follow, byte by byte."""

import numpy as np
import pytest

from sampler_parity.reference import Vocab
from sampler_parity.reference.grammar import Machine, parse
from sampler_parity.reference.grammar.strict import strictly_allowed

# 0..255: the bytes; then a word, a token without text, and the end
WORD, EMPTY, END = 256, 257, 258
PIECES = (*(bytes([b]) for b in range(256)), b"ab", b"", b"</s>")


def vocab() -> Vocab:
    texts = (*(f"<0x{b:02X}>" for b in range(256)), "ab", "", "</s>")
    made = Vocab("spm", texts, (*[6] * 256, 1, 1, 3), eog=frozenset({END}), eos=END)
    assert made.pieces == PIECES
    return made


VOCAB = vocab()


def allowed(grammar: str, *before: int) -> list[int]:
    machine = Machine(parse(grammar, vocab=VOCAB))
    return np.flatnonzero(strictly_allowed(machine, VOCAB, before)).tolist()


@pytest.mark.parametrize(
    ("grammar", "before", "wanted"),
    [
        ('root ::= "ab"', (), [0x61, WORD]),
        ('root ::= "ab"', (0x61,), [0x62]),
        ('root ::= "ab"', (WORD,), [END]),
        ('root ::= "ab"', (WORD, END), [END]),
        ('root ::= "ab"', (0x62,), []),
        ("root ::= [é-ü]", (), [0xC3]),  # U+00E9 is C3 A9, U+00FC is C3 BC
        ("root ::= [é-ü]", (0xC3,), list(range(0xA9, 0xBD))),
        # llama.cpp refuses C3 here, for one of the characters that it begins is excluded
        ("root ::= [^\\x00-\\xE8\\xEA-\\U0010FFFF]", (), [0xC3]),
        ("root ::= [^é\\x00-\\x7F]", (0xC3,), [b for b in range(0x80, 0xC0) if b != 0xA9]),
        # no lead bytes: 80..BF, the overlong C0 and C1, F5..FF beyond U+10FFFF
        ("root ::= [^\\x00-\\x7F]", (), list(range(0xC2, 0xF5))),
        ("root ::= .", (0xE0,), list(range(0xA0, 0xC0))),  # overlong below A0
        ("root ::= .", (0xED,), list(range(0x80, 0xA0))),  # surrogates from A0 on
        ("root ::= .", (0xF4,), list(range(0x80, 0x90))),  # beyond U+10FFFF from 90 on
        ("root ::= [\\uD000-\\uDFFF]", (), [0xED]),
        ("root ::= [^\\x00-\\uD7FF]", (), [*range(0xEE, 0xF5)]),  # ED begins nothing that is left
        ("root ::= [é]*", (0xC3,), [0xA9]),  # no end inside a character
        ("root ::= [\\x00-\\x01]", (), [0, 1]),  # a NUL is a character
        ("root ::= <[97]>", (), [97]),
        ("root ::= !<[97]>", (WORD,), [END]),
        ('root ::= "a" <[256]>', (), [0x61]),  # not inside a token
        ('root ::= <[97]> "x" | "a" "y"', (97,), [0x78, 0x79]),
        ("root ::= [é] <[97]>", (0xC3,), [0xA9]),
    ],
)
def test_what_may_follow(grammar: str, before: tuple[int, ...], wanted: list[int]) -> None:
    assert allowed(grammar, *before) == wanted


def test_a_negated_token_rule_takes_no_end_and_any_other_token() -> None:
    assert allowed("root ::= !<[97]>") == [t for t in range(258) if t != 97]
