"""Grammars: the parser against llama.cpp's published rules, and the sampler by hand-made texts."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.checks.stages.blocks.grammar import spell
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError, Vocab, build_chain
from sampler_parity.reference.grammar import COMPLETE, Kind, Machine, Partial, Rules, decode, parse
from sampler_parity.reference.grammar.parser import MAX_NESTING
from sampler_parity.reference.grammar.rules import MAX_CHAIN
from sampler_parity.reference.grammar.stacks import MAX_STACKS
from sampler_parity.reference.samplers.grammar import Grammar

VECTORS = tomllib.loads((Path(__file__).parent / "grammar_vectors.toml").read_text())
TEXTS = ("a", "ab", "b", "Ã", "©", "é", "Ċ", "<end>", "c")  # é as two byte tokens, Ċ is a newline
VOCAB = Vocab("bpe", TEXTS, (1, 1, 1, 1, 1, 1, 1, 3, 1), eog=frozenset({7}), eos=7)
BYTE_1, BYTE_2, END = 3, 4, 7


def _shown(rules: Rules) -> list[str]:
    lines = []
    for elements in rules.elements:
        parts = [f"{Kind(e.kind).name} {e.value}" if e.kind > Kind.ALT else "ALT" for e in elements]
        lines.append(" ".join(parts[:-1]))
    return lines


def _allowed(grammar: Grammar, n: int = len(TEXTS)) -> list[int]:
    cand = Candidates.from_logits([1.0] * n)
    grammar.apply(cand)
    return [int(token) for token in cand.ids[cand.logits == 1]]


@pytest.mark.parametrize("vector", VECTORS["rules"], ids=range(len(VECTORS["rules"])))
def test_rules_are_those_that_llama_cpp_expects(vector: dict[str, list[str]]) -> None:
    rules = parse(str(vector["grammar"]))
    assert (list(rules.names), _shown(rules)) == (vector["names"], vector["elements"])


@pytest.mark.parametrize("vector", VECTORS["fails"], ids=range(len(VECTORS["fails"])))
def test_grammars_that_llama_cpp_expects_to_fail_are_refused(vector: dict[str, str]) -> None:
    with pytest.raises(ChainError, match=r"^line 1, column \d+: "):
        parse(vector["grammar"])


BAD = {row["id"]: (row["grammar"], row["message"]) for row in VECTORS["refused"]} | {
    "elements": (f'root ::= "{"a" * 501}"{{2000}}', "the grammar has over 1000000 elements"),
    "nesting": (
        "root ::= " + "(" * (MAX_NESTING + 1),
        "line 1, column 110: groups are nested more than 100 deep",
    ),
    "NUL": ("root ::= [a]\n\0", "line 2, column 1: a NUL"),
    "surrogate": ("root ::= [\ud800]", "line 1, column 11: not a character"),
    "chain": (
        "root ::= r0\n"
        + "\n".join(f"r{i} ::= r{i + 1}" for i in range(MAX_CHAIN))
        + f"\nr{MAX_CHAIN} ::= [a]",
        f"over {MAX_CHAIN} rules in a row, each beginning with the next",
    ),
    "ways": (
        "root ::= r0\n"
        + "\n".join(f'r{i} ::= r{i + 1} "x" | r{i + 1} "y"' for i in range(20))
        + "\nr20 ::= [a]",
        f"the grammar can be read in over {MAX_STACKS} ways",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_grammar_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises((ChainError, UndefinedInputError)) as refused:
        Machine(parse(text))
    assert message in str(refused.value)


def test_chain_says_which_stage_has_the_bad_grammar() -> None:
    with pytest.raises(
        ChainError,
        match=r"^stage 2 \(grammar\): grammar_str: line 1, column 10: undefined rule 'x'$",
    ):
        build_chain([{"greedy": {}}, {"grammar": {"grammar_str": "root ::= x"}}], vocab=VOCAB)
    with pytest.raises(ChainError, match="can be read in over 10000 ways"):
        build_chain([{"grammar": {"grammar_str": BAD["ways"][0]}}], vocab=VOCAB)


def test_bytes_that_are_no_utf8_are_refused_with_their_place() -> None:
    with pytest.raises(ChainError, match=r"^line 2: byte 15 is not UTF-8$"):
        parse(b'root ::= "a"\n# \xff\n')


@given(st.text(alphabet='ab"[]()|*+?{}0123,:=\\-^.<>!# \nrot\u00e9\0', max_size=40))
def test_any_text_is_parsed_or_refused_with_its_place(text: str) -> None:
    refusal = "line "
    try:
        Machine(parse("root ::= " + text))
    except ChainError as error:
        refusal = str(error)
    assert refusal.startswith(("line ", "left recursion", "the grammar"))


@pytest.mark.parametrize(
    ("piece", "start", "code_points", "partial"),
    [
        (b"a\xc3\xa9", COMPLETE, (97, 0xE9), (0xE9, 0)),
        (b"\xc3", COMPLETE, (), (3, 1)),
        (b"\xa9b", Partial(3, 1), (0xE9, 98), (98, 0)),
        (b"\x82", Partial(2, 2), (), (2 << 6 | 2, 1)),
        (b"a", Partial(3, 1), (), (0, -1)),
        (b"\x80", COMPLETE, (), (0, -1)),
        (b"\xc3a", COMPLETE, (3 << 6 | 0x21,), (3 << 6 | 0x21, 0)),
        (b"a\0b", COMPLETE, (97,), (97, 0)),
        (b"\xf0\x9f\x99\x82", COMPLETE, (0x1F642,), (0x1F642, 0)),
        (b"", Partial(3, 1), (), (3, 1)),
    ],
)
def test_characters_of_a_token(
    piece: bytes, start: Partial, code_points: tuple[int, ...], partial: tuple[int, int]
) -> None:
    assert decode(piece, start) == (code_points, partial)


@given(st.text(max_size=8), st.data())
def test_text_is_decoded_alike_however_it_is_cut(text: str, data: st.DataObject) -> None:
    encoded = text.replace("\0", "").encode()
    cut = data.draw(st.integers(0, len(encoded)))
    first = decode(encoded[:cut])
    second = decode(encoded[cut:], first.partial)
    whole = "".join(map(chr, first.code_points + second.code_points))
    assert (whole.encode(), second.partial.n_remain) == (encoded, 0)


def test_only_fitting_tokens_are_left_and_the_end_where_the_text_may_end() -> None:
    grammar = Grammar('root ::= "ab" "a"*', "root", VOCAB)
    assert _allowed(grammar) == [0, 1]
    grammar.accept(0)
    assert _allowed(grammar) == [2]
    grammar.accept(2)
    assert _allowed(grammar) == [0, END]
    grammar.accept(END)
    assert _allowed(grammar) == [0, END]


def test_reset_begins_again_and_a_clone_goes_on_alone() -> None:
    grammar = Grammar('root ::= "ab" "c"', "root", VOCAB)
    grammar.accept(1)
    twin = grammar.clone()
    grammar.reset()
    assert (_allowed(grammar), _allowed(twin)) == ([0, 1], [8])
    twin.accept(8)
    assert (_allowed(grammar), _allowed(twin)) == ([0, 1], [END])


def test_character_of_two_tokens_needs_its_second_byte() -> None:
    grammar = Grammar("root ::= [é]", "root", VOCAB)
    assert _allowed(grammar) == [BYTE_1]
    grammar.accept(BYTE_1)
    assert _allowed(grammar) == [BYTE_2]
    grammar.reset()
    assert _allowed(grammar) == [BYTE_1]


def test_few_candidates_and_all_of_them_are_judged_alike() -> None:
    vocab = read_vocab(vocab_path("bpe"))
    grammar = Grammar("root ::= [a-f]+ | [é]", "root", vocab)
    everything = set(_allowed(grammar, len(vocab)))
    for token in range(len(vocab)):
        cand = Candidates.from_logits([0.0])
        cand.ids[0] = token
        grammar.apply(cand)
        assert (cand.logits[0] == 0) == (token in everything)


def test_the_empty_grammar_constrains_nothing() -> None:
    grammar = Grammar("", "root", VOCAB)
    grammar.accept(5)
    assert _allowed(grammar.clone()) == list(range(len(TEXTS)))


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (2, r"^token 2 does not fit the grammar \(llama.cpp throws\)$"),
        (END, r"^token 7 ends an incomplete text \(llama.cpp aborts\)$"),
        (9, r"^token 9 is not in the vocabulary \(llama.cpp aborts\)$"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(token: int, message: str) -> None:
    with pytest.raises(UndefinedInputError, match=message):
        Grammar('root ::= "a"', "root", VOCAB).accept(token)


def test_token_rule_in_the_middle_of_a_token_is_left_and_then_refused() -> None:
    """A finding: llama.cpp leaves "ab" and throws when it is accepted."""
    grammar = Grammar('root ::= "a" <[1]>', "root", VOCAB)
    assert _allowed(grammar) == [0, 1]
    with pytest.raises(UndefinedInputError, match="token 1 does not fit"):
        grammar.accept(1)


@pytest.mark.parametrize("spelling", ["longest", "bytes"])
def test_spelling_gives_the_text_back(spelling: str) -> None:
    vocab = read_vocab(vocab_path("spm"))
    tokens = spell(["hello é", 5, "🙂"], vocab, spelling)  # type: ignore[arg-type]
    assert b"".join(vocab.pieces[token] for token in tokens) == "hello é".encode() + b"\x02" + (
        "🙂".encode()
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "missing parameter 'grammar_str'"),
        ({"grammar_str": 1}, "grammar_str must be a string, got 1"),
        ({"grammar_str": "root ::= [a]", "grammar_root": 1}, "grammar_root must be a string"),
        ({"grammar_str": "root ::= [a]", "vocab": 1}, "unknown parameter 'vocab'"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        build_chain([{"grammar": parameters}], vocab=VOCAB)
    with pytest.raises(ChainError, match="needs a vocabulary"):
        build_chain([{"grammar": {"grammar_str": "root ::= [a]"}}])
