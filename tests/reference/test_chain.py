"""build_chain's checks, and properties of every chain: apply, trace, reset, clone."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import SAMPLERS, Candidates, Chain, ChainError, Vocab, build_chain
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from tests.support.applied import Spec
from tests.support.inside import Inside
from tests.support.stages import ACTIVE, NAME_IDS

VOCAB = Vocab("bpe", ("a", "ab", "b", "<end>"), (1, 1, 1, 3), eog=frozenset({3}), eos=3, eot=3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([{"topp": {}}], "stage 1: unknown sampler 'topp'; did you mean top_p or top_k?"),
        (
            [{"nothing": {}}],
            f"stage 1: unknown sampler 'nothing'; known: {', '.join(sorted(REFERENCE_SAMPLERS))}",
        ),
        ([{"greedy": {}}, {"top_k": {}}], "stage 2 (top_k): missing parameter 'k'"),
        ([{"top_p": {"min_keep": 1}}], "stage 1 (top_p): missing parameter 'p'"),
        (
            [{"top_p": {"q": 0.5}}],
            "stage 1 (top_p): unknown parameter 'q'; known: p, min_keep",
        ),
        ([{"greedy": {"k": 1}}], "stage 1 (greedy): unknown parameter 'k'; known: none"),
        (
            [{"dry": {"dry_multiplier": 1, "vocab": 3}}],
            "stage 1 (dry): unknown parameter 'vocab'; known: dry_multiplier, dry_base,"
            " dry_allowed_length, dry_penalty_last_n, seq_breakers",
        ),
        ([{"mirostat": {"seed": 1}}], "stage 1 (mirostat): missing parameter 'n_vocab'"),
        ([{"top_k": {"k": 1.0}}], "stage 1 (top_k): k must be an integer, got 1.0"),
        ([{"top_k": {"k": True}}], "stage 1 (top_k): k must be an integer, got True"),
        ([{"top_k": {"k": "40"}}], "stage 1 (top_k): k must be an integer, got '40'"),
        (
            [{"top_k": {"k": 2**31}}],
            "stage 1 (top_k): k must be in -2147483648..2147483647, got 2147483648",
        ),
        ([{"dist": {"seed": -1}}], "stage 1 (dist): seed must be in 0..4294967295, got -1"),
        (
            [{"min_p": {"p": 0.1, "min_keep": -1}}],
            "stage 1 (min_p): min_keep must be in 0..9223372036854775807, got -1",
        ),
        ([{"temp": {"temp": "1"}}], "stage 1 (temp): temp must be a number, got '1'"),
        ([{"temp": {"temp": None}}], "stage 1 (temp): temp must be a number, got None"),
        ([{"temp": {"temp": False}}], "stage 1 (temp): temp must be a number, got False"),
        ([{"temp": {"temp": float("nan")}}], "stage 1 (temp): temp must not be NaN"),
        (
            [{"temp": {"temp": 1e39}}],
            "stage 1 (temp): temp must be a finite float32, got 1e+39",
        ),
        (
            [{"penalties": {"penalty_last_n": 1, "penalty_repeat": 0}}],
            "stage 1 (penalties): penalty_repeat must be greater than 0, got 0",
        ),
        (
            [{"top_k": {"k": 1}, "temp": {"temp": 1}}],
            "stage 1 must name one sampler with its parameters:"
            " {'top_k': {'k': 1}, 'temp': {'temp': 1}}",
        ),
        (["greedy"], "stage 1 must name one sampler with its parameters: 'greedy'"),
        ([{}], "stage 1 must name one sampler with its parameters: {}"),
        ([{"top_k": 40}], "stage 1 (top_k): parameters must be a table, got 40"),
    ],
)
def test_build_chain_names_stage_sampler_parameter_rule_and_value(spec: Any, message: str) -> None:
    with pytest.raises(ChainError) as caught:
        build_chain(spec)
    assert str(caught.value) == message


def test_build_chain_gives_the_vocabulary_size_where_it_is_needed() -> None:
    spec: Spec = [{"mirostat": {"seed": 1}}]
    assert build_chain(spec, n_vocab=7).samplers[0].n_vocab == 7  # type: ignore[attr-defined]
    assert build_chain(spec, vocab=VOCAB).samplers[0].n_vocab == 4  # type: ignore[attr-defined]
    named: Spec = [{"mirostat": {"seed": 1, "n_vocab": 9}}]
    assert build_chain(named, n_vocab=7).samplers[0].n_vocab == 9  # type: ignore[attr-defined]


def test_build_chain_takes_other_samplers() -> None:
    made = build_chain([{"mine": {}}], samplers={"mine": SAMPLERS["greedy"]})
    assert made.samplers[0].name == "greedy"
    with pytest.raises(ChainError, match=r"^stage 1: unknown sampler 'top_k'; known: mine$"):
        build_chain([{"top_k": {"k": 1}}], samplers={"mine": SAMPLERS["greedy"]})


def test_candidates_refuse_logits_of_two_dimensions() -> None:
    with pytest.raises(ValueError, match=r"^logits must have one dimension, got shape \(1, 2\)$"):
        Candidates.from_logits([[1.0, 2.0]])


def test_candidates_share_no_memory_with_the_logits_given() -> None:
    row = np.array([1.0, 2.0], np.float32)
    cand = Candidates.from_logits(row)
    cand.logits[0] = 9
    assert row.tolist() == [1.0, 2.0]
    copy = cand.copy()
    copy.logits[0], copy.ids[0], copy.p[0] = 8, 7, 6
    assert (cand.logits[0], cand.ids[0], cand.p[0]) == (9, 0, 0)


@pytest.mark.slow
def test_every_expectation_of_a_case_is_met_by_the_reference() -> None:
    """By hand with the reason of each, and those of llama.cpp's own tests/test-sampling.cpp."""
    paths = find_suites(["parity", "removed", "trie/token_trie"])
    cases = [case for path in paths for case in expand(path, "quick") if vars(case).get("expect")]
    with closing(Inside(Worker(), name="mine")) as mine:
        results = [execute(case, [mine]) for case in cases]
    assert [result.id for result in results if not result.met("mine")] == []
    assert len(results) > 200


# A stage of every kind, each of which changes something.
FILTERS: Spec = [
    {"top_k": {"k": 20}},
    {"top_k": {"k": 0}},
    {"top_p": {"p": 0.9}},
    {"top_p": {"p": 0.5, "min_keep": 4}},
    {"min_p": {"p": 0.05}},
    {"min_p": {"p": 0.5, "min_keep": 3}},
    {"typical_p": {"p": 0.7, "min_keep": 1}},
    {"temp": {"temp": 0.6}},
    {"temp": {"temp": 0.0}},
    {"temp_ext": {"temp": 1.0, "delta": 0.5, "exponent": 0.7}},
    {"top_n_sigma": {"n": 1.0}},
    {"logit_bias": {"logit_bias": [[0, 2.0], [3, float("-inf")]]}},
    {"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.3, "penalty_present": 0.5}},
    {"dry": {"dry_multiplier": 0.8, "dry_allowed_length": 1, "seq_breakers": [[2]]}},
    {"xtc": {"p": 0.5, "t": 0.1, "seed": 3}},
    {"softmax": {}},
    {"tail_free": {"z": 0.9, "min_keep": 1}},
    {"infill": {}},
]
ENDS: Spec = [
    {"greedy": {}},
    {"dist": {"seed": 1}},
    {"mirostat": {"seed": 2, "tau": 3.0}},
    {"mirostat_v2": {"seed": 3, "tau": 2.0}},
    {"adaptive_p": {"target": 0.3, "seed": 4}},
]
specs = st.tuples(st.lists(st.sampled_from(FILTERS), max_size=4), st.sampled_from(ENDS)).map(
    lambda parts: [*parts[0], parts[1]]
)
rows = st.lists(
    st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 4.0]), min_size=4, max_size=40),
    min_size=2,
    max_size=8,
)
examples = settings(max_examples=60, deadline=None)


def on_any_chain(test: Callable[..., None]) -> Callable[..., None]:
    """Run the test with random chains and rows of logits."""
    drawn: Callable[..., None] = pytest.mark.slow(given(specs, rows)(examples(test)))
    return drawn


def _chain(spec: Spec) -> Chain:
    """n_vocab and vocabulary are only read by mirostat and infill."""
    texts = tuple(f"<{i}>" for i in range(40))
    words = Vocab("bpe", texts, (1,) * 40, eog=frozenset({39}), eos=39, eot=39)
    return build_chain(spec, vocab=words)


def _step(chain: Chain, row: list[float]) -> Candidates:
    cand = Candidates.from_logits(row)
    chain.apply(cand)
    if cand.token is not None:
        chain.accept(cand.token)
    return cand


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.tobytes() == b.tobytes()


def _same(a: Candidates, b: Candidates) -> bool:
    arrays = ((a.ids, b.ids), (a.logits, b.logits), (a.p, b.p))
    return all(_equal(x, y) for x, y in arrays) and (a.sorted, a.selected) == (b.sorted, b.selected)


@on_any_chain
def test_trace_gives_what_apply_gives(spec: Spec, logits: list[list[float]]) -> None:
    applied, traced = _chain(spec), _chain(spec)
    for row in logits:
        want = _step(applied, row)
        cand = Candidates.from_logits(row)
        stages = list(traced.trace(cand))
        assert [stage.name for stage in stages] == [name for stage in spec for name in stage]
        assert [stage.index for stage in stages] == list(range(len(spec)))
        assert _same(stages[-1].candidates, want)
        assert _same(cand, want)
        traced.accept(want.token or 0)


@on_any_chain
def test_a_stage_of_a_trace_is_not_changed_by_later_stages(
    spec: Spec, logits: list[list[float]]
) -> None:
    cand = Candidates.from_logits(logits[0])
    chain, copies = _chain(spec), []
    stages = []
    for stage in chain.trace(cand):
        stages.append(stage.candidates)
        copies.append(stage.candidates.copy())
    assert all(_same(a, b) for a, b in zip(stages, copies, strict=True))


@on_any_chain
def test_reset_gives_a_fresh_chain(spec: Spec, logits: list[list[float]]) -> None:
    used = _chain(spec)
    for row in logits:
        _step(used, row)
    used.reset()
    fresh = _chain(spec)
    for row in logits:
        assert _same(_step(used, row), _step(fresh, row))


@pytest.mark.slow
@given(specs, rows, st.data())
@examples
def test_a_clone_goes_on_equally(
    spec: Spec, logits: list[list[float]], data: st.DataObject
) -> None:
    """Except that adaptive_p's clone restarts its random stream: there only the stages before its
    draw, and its probabilities, are equal, until the tokens differ."""
    chain = _chain(spec)
    at = data.draw(st.integers(0, len(logits) - 1))
    for row in logits[:at]:
        _step(chain, row)
    twin = chain.clone()
    for row in logits[at:]:
        a, b = _step(chain, row), _step(twin, row)
        if "adaptive_p" in spec[-1]:
            assert _equal(a.ids, b.ids)
            assert _equal(a.p, b.p)
            return
        assert _same(a, b)


@on_any_chain
def test_a_clone_is_independent(spec: Spec, logits: list[list[float]]) -> None:
    """Changes of the clone do not affect the original."""
    chain, undisturbed = _chain(spec), _chain(spec)
    for row in logits:
        twin = chain.clone()
        for other in reversed(logits):
            _step(twin, other)
        twin.reset()
        assert _same(_step(chain, row), _step(undisturbed, row))


@on_any_chain
def test_the_logits_given_are_never_modified(spec: Spec, logits: list[list[float]]) -> None:
    row = np.array(logits[0], np.float32)
    row.flags.writeable = False
    _step(_chain(spec), row)  # type: ignore[arg-type]
    assert row.tolist() == logits[0]


@on_any_chain
def test_a_chain_in_double_keeps_double_and_ids_distinct(
    spec: Spec, logits: list[list[float]]
) -> None:
    chain = _chain(spec)
    for row in logits:
        cand = Candidates.from_logits(row, dtype=np.float64)
        chain.apply(cand)
        assert cand.logits.dtype == cand.p.dtype == np.float64
        assert len(set(cand.ids.tolist())) == len(cand.ids) == len(cand.logits) == len(cand.p)


def test_double_gives_the_result_without_rounding() -> None:
    """Three equals: 1/3 to about 7 digits in float32, to 16 in double."""
    chain = build_chain([{"top_p": {"p": 0.5}}])
    single, double = (Candidates.from_logits([0.0] * 3, dtype=t) for t in (np.float32, np.float64))
    chain.apply(single)
    chain.apply(double)
    assert abs(float(single.p[0]) - 1 / 3) > 1e-9
    assert abs(float(double.p[0]) - 1 / 3) < 1e-15


@pytest.mark.parametrize("stage", ACTIVE, ids=NAME_IDS)
def test_sampler_in_float64_is_float64_and_near_float32(stage: dict[str, dict[str, Any]]) -> None:
    logits = np.random.default_rng(11).normal(0, 2, 300).astype(np.float32)
    results = []
    for dtype in (np.float32, np.float64):
        chain = build_chain([stage], n_vocab=300, vocab=read_vocab(vocab_path("bpe")))
        for token in (1, 2, 1, 2, 1):
            chain.accept(token)
        cand = Candidates.from_logits(logits, dtype=dtype)
        chain.apply(cand)
        assert cand.logits.dtype == dtype
        assert cand.p.dtype == dtype
        results.append(cand)
    single, double = results
    assert single.ids.tolist() == double.ids.tolist()
    assert single.token == double.token
    np.testing.assert_allclose(single.logits, double.logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(single.p, double.p, rtol=1e-4, atol=1e-6)
