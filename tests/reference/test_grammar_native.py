"""The native grammar sampler: parity on random grammars, and inputs that crash it.

The inputs of docs/findings.md that crash llama.cpp run in separate processes. The reference refuses
each of them with its place.
"""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from sampler_parity.harness.checks.stages.blocks.grammar import allowed, random_grammar, walk
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs import vocabularies
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import ChainError, UndefinedInputError, build_chain
from sampler_parity.reference.vocab import _CHAR_OF, TokenType
from tests.support.applied import Spec
from tests.support.compilers import gcc_of_llama
from tests.support.examples import examples
from tests.support.native_grammar import ask, limited, native_allowed

BPE = vocab_path("bpe")
VOCAB = read_vocab(BPE)
HELLO, AB, EOT = 259, 286, 302
TYPES = [TokenType.NORMAL] * 257 + [TokenType.CONTROL]


@pytest.fixture(scope="module")
def mortal() -> Iterator[BackendProcess]:
    with closing(limited()) as process:
        yield process


@settings(
    max_examples=examples(60), deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.sampled_from(["bpe", "spm"]), st.integers(0, 2**32))
def test_any_grammar_is_refused_or_read_as_natively(worker: Worker, name: str, seed: int) -> None:
    vocab, path = read_vocab(vocab_path(name)), str(vocab_path(name))
    rng = random.Random(seed)
    spec = [{"grammar": {"grammar_str": random_grammar(rng, len(vocab)), "grammar_root": "root"}}]
    try:
        chain = build_chain(spec, vocab=vocab)
    except ChainError as error:
        if "behind an empty rule" not in str(error) and "over" not in str(error):
            with pytest.raises(InputError, match=r"llama\.cpp refuses its parameters"):
                worker.build(spec, len(vocab), path)
        return
    native = worker.build(spec, len(vocab), path)
    try:
        tokens = walk(chain.clone(), vocab, rng, 8)
    except UndefinedInputError:
        reject()  # too many ways to read it, as in suites' random grammars: another one
    for token in [*tokens, None]:
        assert native_allowed(worker, native, len(vocab)) == allowed(chain, len(vocab))
        if token is not None:
            chain.accept(token)
            native.accept(token)


@pytest.mark.slow
def test_native_refusal_carries_llama_cpps_words(mortal: BackendProcess) -> None:
    for text, words in (
        ('root ::= "a" }', "expecting newline or end at } "),
        ("root ::= b", "Undefined rule identifier 'b'"),
        ('root ::= root "a"', "left recursion detected for nonterminal at index 0"),
    ):
        with pytest.raises(BackendFailure, match=words) as refused:
            ask(mortal, [{"grammar": {"grammar_str": text, "grammar_root": "root"}}], BPE, 303)
        assert refused.value.verdict == "rejected"


def _crashes(mortal: BackendProcess, chain: Spec, how: str, *accepted: int) -> None:
    with pytest.raises(BackendFailure, match=how) as died:
        ask(mortal, chain, BPE, 303, [*accepted])
    assert died.value.verdict == "crashed"


def _grammar(text: str) -> Spec:
    return [{"grammar": {"grammar_str": text, "grammar_root": "root"}}]


DEADLY = {
    "hidden-left-recursion": (
        'root ::= e root "x" | "y"\ne ::= f\nf ::= ""', "bad_alloc", "left recursion after"
    ),
    "groups-in-groups": (
        "root ::= " + "(" * 50_000 + '"a"' + ")" * 50_000, "SIGSEGV",
        "groups are nested more than 100 deep",
    ),
    "long-chain": (
        "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1}" for i in range(100_000))
        + '\nr100000 ::= "a"',
        "SIGSEGV", "over 2000 rules in a row, each beginning with the next",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "how", "refusal"), DEADLY.values(), ids=DEADLY)
@pytest.mark.slow
def test_grammar_that_crashes_llama_cpp_is_refused_by_the_reference(
    mortal: BackendProcess, text: str, how: str, refusal: str
) -> None:
    _crashes(mortal, _grammar(text), how)
    with pytest.raises(ChainError, match=refusal):
        build_chain(_grammar(text), vocab=VOCAB)


@pytest.mark.nightly
def test_limits_the_wrong_way_round_take_all_memory(mortal: BackendProcess) -> None:
    with pytest.raises(BackendFailure, match="bad_alloc") as refused:
        ask(mortal, _grammar('root ::= "a"{2,1}'), BPE, 303)
    assert refused.value.verdict in ("rejected", "crashed")
    with pytest.raises(ChainError, match="minimum 2 is above maximum 1"):
        build_chain(_grammar('root ::= "a"{2,1}'), vocab=VOCAB)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grammar", "token"),
    [(f'root ::= "a" <[{AB}]>', AB), ('root ::= "h" !<[301]>', HELLO)],
    ids=["token", "not-token"],
)
def test_a_token_left_by_the_grammar_crashes_when_accepted(
    mortal: BackendProcess, grammar: str, token: int
) -> None:
    assert token in ask(mortal, _grammar(grammar), BPE, 303)
    _crashes(mortal, _grammar(grammar), "Unexpected empty grammar stack", token)
    chain = build_chain(_grammar(grammar), vocab=VOCAB)
    assert token in allowed(chain, 303)
    with pytest.raises(UndefinedInputError, match="does not fit the grammar"):
        chain.accept(token)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "how"), [(EOT, "signal SIGABRT"), (98, "Unexpected empty grammar stack")]
)
def test_a_token_that_does_not_fit_ends_the_process(
    mortal: BackendProcess, token: int, how: str
) -> None:
    _crashes(mortal, _grammar('root ::= "a"'), how, token)


def _lazy(pattern: str) -> Spec:
    grammar = {"grammar_str": 'root ::= "a"', "grammar_root": "root"}
    triggers = {"trigger_patterns": [pattern], "trigger_tokens": []}
    return [{"grammar_lazy_patterns": grammar | triggers}]


@pytest.mark.slow
def test_a_bad_trigger_pattern_ends_the_process(mortal: BackendProcess) -> None:
    _crashes(mortal, _lazy("("), "regular expression")


@pytest.mark.slow
def test_text_of_50000_bytes_before_an_anchored_trigger_overflows_the_stack(
    mortal: BackendProcess, tmp_path: Path
) -> None:
    """With a token of 5,000 bytes, so that the quadratic search does not take minutes."""
    texts = [_CHAR_OF[b] for b in range(256)] + ["a" * 5000, "<|endoftext|>"]
    path = tmp_path / "long.gguf"
    writer = vocabularies._writer(path, "gpt2", texts, TYPES)
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_merges(["a a"])
    writer.add_bos_token_id(257)
    writer.add_eos_token_id(257)
    vocabularies._finish(writer, len(texts))
    pattern = r"^[\s\S]*?(<call>)[\s\S]*$"
    assert len(ask(mortal, _lazy(pattern), path, 258, [256] * 2)) == 258
    if gcc_of_llama() < 16:
        with pytest.raises(BackendFailure, match="SIGSEGV"):
            ask(mortal, _lazy(pattern), path, 258, [256] * 30)
    else:  # the frames of std::regex are on the heap
        assert len(ask(mortal, _lazy(pattern), path, 258, [256] * 30)) == 258
    chain = build_chain(_lazy(pattern), vocab=read_vocab(path))
    for _ in range(30):
        chain.accept(256)
    assert len(allowed(chain, 258)) == 258
