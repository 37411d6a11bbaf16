"""A grammar in common_sampler: both ways of using it, and the native samplers in the same order."""

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.reference import build_chain
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.samplers.grammar_lazy_patterns import GrammarLazyPatterns
from tests.support.applied import Spec

VOCAB = read_vocab(vocab_path("bpe"))
N = len(VOCAB)
TEXT = 'root ::= "{" [a-c]{2,4} "}" | [0-9]{3,8}'
PARAMS = SamplingParams(seed=3, temp=1.5, top_k=0, top_p=1.0, min_p=0.0)


def _rows(seed: int, count: int) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, 3, N).astype(np.float32) for _ in range(count)]


def _text(sampler: CommonSampler, seed: int, grammar_first: bool) -> list[int]:
    tokens = []
    for row in _rows(seed, 12):
        token = sampler.sample(Output(row), grammar_first)
        sampler.accept(token, True)
        tokens.append(token)
        if token in VOCAB.eog:
            break
    return tokens


@pytest.mark.parametrize("grammar_first", [True, False], ids=["grammar-first", "resampling"])
@pytest.mark.parametrize("seed", range(6))
def test_both_ways_write_only_texts_of_the_grammar(seed: int, grammar_first: bool) -> None:
    sampler = CommonSampler(PARAMS, N, VOCAB, grammar=Grammar(TEXT, "root", VOCAB))
    tokens = _text(sampler, seed, grammar_first)
    assert tokens[-1] in VOCAB.eog
    again = Grammar(TEXT, "root", VOCAB)
    for token in tokens:  # raises for one that does not fit
        again.accept(token)


@pytest.mark.parametrize("seed", range(6))
def test_grammar_first_is_the_native_grammar_before_the_native_chain(seed: int) -> None:
    sampler = CommonSampler(PARAMS, N, VOCAB, grammar=Grammar(TEXT, "root", VOCAB))
    spec: Spec = [
        {"grammar": {"grammar_str": TEXT, "grammar_root": "root"}},
        {"temp": {"temp": 1.5}},
        {"dist": {"seed": 3}},
    ]
    worker = Worker()
    native = worker.build(spec, N, str(vocab_path("bpe")))
    own = build_chain([{"temp": {"temp": 1.5}}, {"dist": {"seed": 3}}])
    sampler.chain = own
    for row in _rows(seed, 12):
        token = sampler.sample(Output(row), grammar_first=True)
        candidates = worker.candidates(row)
        native.apply(None, candidates)
        ids, _, _, _, selected = worker.result(candidates)
        assert int(ids[selected]) == token
        if token in VOCAB.eog:
            break
        sampler.accept(token, True)
        native.accept(token)


def test_lazy_grammar_lets_text_pass_and_then_holds_it() -> None:
    lazy = GrammarLazyPatterns(TEXT, "root", ["\\{"], [], VOCAB)
    params = SamplingParams(seed=3, temp=1.5, top_k=0, top_p=1.0, min_p=0.0, grammar_lazy=True)
    sampler = CommonSampler(params, N, VOCAB, grammar=lazy)
    tokens = []
    for row in _rows(1, 6):
        tokens.append(sampler.sample(Output(row)))
        sampler.accept(tokens[-1], True)
    free = CommonSampler(params, N, VOCAB)
    assert tokens == [free.sample(Output(row)) for row in _rows(1, 6)]
    sampler.accept(ord("{"), True)
    assert sampler.sample(Output(_rows(2, 1)[0])) in {ord(c) for c in "abc"} | {286, 287}
