"""The tree of a vocabulary's texts answers as the grammar does, token by token."""

import pytest

from sampler_parity.reference.grammar import COMPLETE, Decoded, Machine, Partial, decode, parse
from sampler_parity.reference.grammar.stacks import allowed, tree_of

PIECES = (
    b"a", b"ab", b"abc", b"b", b"ba", b"a\0c", b"\xc3", b"\xc3\xa4", b"a\xc3", b"\xa4", b"\xa4b",
    b"\xc0\x80", b"a\xc0\x80b", b"\xff", b"a\xff", b"\xe2\x82", b"\xe2\x82\xac", b"aaab", b"  ",
)  # fmt: skip
GRAMMARS = (
    'root ::= "ab" "c"?',
    "root ::= [^a]* | [a-c]+",
    "root ::= .*",
    'root ::= [ä€] | "a" root',
    'root ::= "a"* <[3]> "a"',
    'root ::= ("a" | !<[0]>) "b" | [^x] [^y]',
    'root ::= "a" (<[1]> | "b") | "abc"',
)


STARTS = (COMPLETE, Partial(3, 1), Partial(2, 2))  # inside a character: two that a text begins


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_the_tree_allows_what_the_grammar_allows(grammar: str) -> None:
    machine = Machine(parse(grammar, "root", None))
    answers = set()
    for start in STARTS:
        tokens = [(token, decode(piece, start)) for token, piece in enumerate(PIECES)]
        after = [machine.accept_token(machine.start, len(PIECES), text) for _, text in tokens]
        for state in [machine.start, *after]:
            wanted = [token for token, text in tokens if machine.allows(state, token, text)]
            assert sorted(allowed(machine, state, tree_of(tokens))) == wanted
            answers |= {token in wanted for token, _ in tokens}
    assert answers == {True, False}


def test_a_tree_holds_no_character_behind_a_null() -> None:
    root = tree_of([(0, Decoded((97, 0, 98), COMPLETE)), (1, Decoded((97,), COMPLETE))])
    assert list(root.next) == [97]
    assert root.next[97].tokens == {COMPLETE: [0, 1]}
    assert root.next[97].next == {}
