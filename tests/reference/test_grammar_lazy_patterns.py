"""grammar_lazy_patterns: when it begins and with which text; its patterns against std::regex."""

import random

import pytest

from sampler_parity.harness.checks.stages.blocks.grammar import allowed, spell
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.reference import ChainError, UndefinedInputError, build_chain
from sampler_parity.reference.grammar.triggers import Trigger, escaped, of_words, translated
from sampler_parity.reference.samplers.grammar_lazy_patterns import GrammarLazyPatterns
from tests.support.native_grammar import native_allowed

VOCAB = read_vocab(vocab_path("bpe"))


@pytest.mark.parametrize(
    ("pattern", "text", "start"),
    [
        ("b", "abab", 1),
        ("b(a)", "abab", 2),
        ("b(x?)(a)", "abab", 2),
        ("^a(b)$", "ab", 1),
        ("^a(b)$", "xab", None),
        ("^[^x]*?(b)[^x]*$", "abab", 1),
        ("a.b", "a\nb", None),
        ("a.b", "a\rb", None),
        (r"a[\s\S]b", "a\nb", 0),
        ("b$", "ab\n", None),
        (r"\(\[\.", "x([.", 1),
        (r"[&|~-]", "a~", 1),
    ],
)
def test_trigger_is_found_at_its_first_group(pattern: str, text: str, start: int | None) -> None:
    assert Trigger(pattern).find(text.encode()) == start


@pytest.mark.parametrize("word", ["<a|b>", "[x]{2}", "\\d+?", "(a^$.*)"])
def test_trigger_words_are_found_as_they_are_written(word: str) -> None:
    assert Trigger(escaped(word)).find(f"say {word}!".encode()) == 4
    assert Trigger(of_words(["zz", word])).find(f"say {word}!".encode()) == 4


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a[[:alpha:]]", "at 3: \\[ or a character beyond ASCII in a class"),
        ("[é]", "at 2: "),
        ("[]a]", "at 1: an empty class"),
        ("(?P<n>a)", "at 1: a group other than"),
        ("(?<=a)b", "at 1: a group"),
        ("a++", "at 3: a quantifier of a quantifier"),
        ("a{x}", "at 2: { that begins no quantifier"),
        (r"\Aa", "at 1: an escape"),
        (r"\01", "at 1: an escape"),
        ("(a", "missing \\), unterminated subpattern"),
        ("*", "nothing to repeat"),
    ],
)
def test_patterns_that_mean_something_else_in_cpp_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        translated(pattern)


def _random_pattern(rng: random.Random) -> str:
    atoms = ["a", "b", ".", "[ab]", "[^a]", "(b)", "(?:a|b)", "(a|)", r"\s", r"\w", "(?=b)", r"\b"]
    repeats = ["", "", "", "*", "+", "?", "*?", "{1,2}"]

    def item() -> str:
        atom = rng.choice(atoms)
        return atom if atom in ("(?=b)", r"\b") else atom + rng.choice(repeats)

    body = "".join(item() for _ in range(rng.randint(1, 4)))
    return rng.choice([body, body, f"^{body}$", f"^{body}", f"{body}$"])


@pytest.mark.slow
def test_random_patterns_trigger_where_std_regex_does() -> None:
    """The grammar takes any text, but its first character shows where it began: each place of the
    text allows another digit next.
    """
    worker, path = Worker(), str(vocab_path("bpe"))
    rng = random.Random(5)
    awake = 0
    for _ in range(150):
        text = "".join(rng.choice("ab \n") for _ in range(rng.randint(1, 6)))
        rest = [f'"{text[i:]}" "{i}"'.replace("\n", "\\n") for i in range(len(text) + 1)]
        parameters = {
            "grammar_str": "root ::= " + " | ".join(rest[:-1]),
            "grammar_root": "root",
            "trigger_patterns": [_random_pattern(rng)],
            "trigger_tokens": [],
        }
        spec = [{"grammar_lazy_patterns": parameters}]
        reference = build_chain(spec, vocab=VOCAB)
        native = worker.build(spec, len(VOCAB), path)
        # as one replay: the pattern must not be found before the text is whole
        tokens = spell(text, VOCAB, "bytes")
        for token in tokens:
            try:
                reference.clone().accept(token)
            except UndefinedInputError:
                break  # an empty match, or one before the end: native throws
            reference.accept(token)
            native.accept(token)
            left = allowed(reference, len(VOCAB))
            assert native_allowed(worker, native, len(VOCAB)) == left, (parameters, text)
            awake += len(left) < len(VOCAB)
    assert awake > 100


def test_words_wake_the_grammar_where_their_text_stands() -> None:
    words, grammar = ["x", "a."], 'root ::= ("x" | "a.") "b"*'
    chain = GrammarLazyPatterns(grammar, vocab=VOCAB, trigger_words=words)
    for token in b"aab":
        chain.accept(token)
    assert chain.awaiting  # "a." is no pattern
    for token in b"xb":
        chain.accept(token)
    assert not chain.awaiting
    chain.reset()
    for token in b"aba.":
        assert chain.awaiting
        chain.accept(token)
    assert not chain.awaiting


def test_reset_sleeps_again_and_a_clone_stays_awake() -> None:
    chain = GrammarLazyPatterns('root ::= "a" "b"', "root", ["a"], [], VOCAB)
    chain.accept(97)
    twin = chain.clone()
    chain.reset()
    assert (chain.awaiting, twin.awaiting) == (True, False)
    chain.accept(98)
    assert (chain.text, twin.text) == (b"b", b"a")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"trigger_patterns": "a"}, "trigger_patterns must be a list of strings, got 'a'"),
        ({"trigger_patterns": [1]}, "trigger_patterns must be a list of strings"),
        ({"trigger_patterns": ["("]}, "trigger_patterns: '\\('"),
        ({"trigger_tokens": 1}, "trigger_tokens must be a list, got 1"),
        ({"trigger_tokens": ["a"]}, "trigger_tokens must be an integer"),
        ({"trigger_words": "a"}, "trigger_words must be a list of strings, got 'a'"),
        (
            {"trigger_words": ["a"], "trigger_patterns": ["b"]},
            "give either trigger_words or trigger_patterns",
        ),
    ],
)
def test_bad_triggers_are_refused(parameters: dict[str, object], message: str) -> None:
    stage = {"grammar_str": "root ::= [a]", **parameters}
    with pytest.raises(ChainError, match=message):
        build_chain([{"grammar_lazy_patterns": stage}], vocab=VOCAB)
