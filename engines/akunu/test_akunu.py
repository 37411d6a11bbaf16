"""akunu: Akunu's CPU pipeline, by hand, at its edges, and against the independent backend."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler_parity.engines.akunu import cpu as backend
from sampler_parity.engines.akunu.model.pipeline import PRESETS, Akunu
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates, ChainError, UndefinedInputError
from tests.support.applied import SEED, FixedWords, applied, logs, side_by_side


def _sampled(sampler: Akunu, logits: object) -> Candidates:
    cand = Candidates.from_logits(logits)  # type: ignore[arg-type]
    sampler.apply(cand)
    return cand


def test_akunu_takes_temperature_softmax_filters_and_draw_in_this_order() -> None:
    """l = 2 0 -2 at T = 2: 1 0 -1; exp / sum: .6652 .2447 .0900; min_p .2 keeps p >= .1330: two;
    .7311 .2689. The first uniform float of the seed is .8147: the second."""
    cand = applied("akunu", {"seed": SEED, "temperature": 2.0, "min_p": 0.2}, [2.0, 0.0, -2.0])
    assert cand.ids.tolist() == [0, 1]
    assert cand.p == pytest.approx([0.73106, 0.26894], abs=1e-5)
    assert cand.token == 1


def test_akunu_penalizes_every_occurrence() -> None:
    """8 / 2 / 2 = 2; -1 * 2 = -2."""
    parameters = {"seed": 1, "temperature": 1.0, "repeat_penalty": 2.0, "top_k": 3}
    cand = applied("akunu", parameters, [8.0, -1.0, 2.0, 0.0], history=[0, 0, 1])
    assert dict(zip(cand.ids.tolist(), cand.logits.tolist(), strict=True)) == {0: 2, 2: 2, 3: 0}


def test_akunu_passes_over_tokens_outside_the_vocabulary() -> None:
    cand = applied("akunu", {"seed": 1, "repeat_penalty": 2.0}, [1.0, 3.0], history=[2, -1, 7])
    assert cand.logits.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("top_k", "survivors"), [(-1, 256), (0, 256), (299, 299), (300, 256), (1, 1)]
)
def test_akunu_caps_top_k_at_256_where_it_says_no_limit(top_k: int, survivors: int) -> None:
    logits = np.arange(300) / 100
    assert (
        len(applied("akunu", {"seed": 1, "temperature": 1.0, "top_k": top_k}, logits)) == survivors
    )


def test_akunu_top_p_sums_the_mass_in_the_whole_vocabulary() -> None:
    """top_k keeps 3/4 of 1/2 1/4 1/8 1/8: top_p .8 removes nothing more."""
    parameters = {"seed": 1, "temperature": 1.0, "top_k": 2, "top_p": 0.8}
    assert len(applied("akunu", parameters, logs(0.5, 0.25, 0.125, 0.125))) == 2


@pytest.mark.parametrize(
    ("word", "token"),
    [
        (0, 0),  # r = 0 <= 1/2
        (2**31, 0),  # r = 1/2 <= 1/2
        (2**31 + 128, 0),  # rounds to the even neighbour, 1/2
        (2**31 + 129, 1),  # rounds up
        (2**32 - 1, 1),  # 1, which libstdc++ replaces by the number before
    ],
)
def test_akunu_draws_with_a_float_of_one_word(word: int, token: int) -> None:
    sampler = Akunu(seed=1, temperature=1.0)
    sampler.rng = FixedWords(word)
    assert _sampled(sampler, [0.0, 0.0]).token == token


def test_akunu_can_draw_a_banned_token() -> None:
    """Ten times 1/10 in float32 is 1 - 2**-22: a larger r falls through to the last, banned one."""
    logits = np.full(11, -np.inf, np.float32)
    logits[:10] = 0.0
    sampler = Akunu(seed=1, temperature=1.0, logits="f32")
    sampler.rng = FixedWords(2**32 - 1)
    cand = _sampled(sampler, logits)
    assert np.add.accumulate(cand.p)[-1] == 1 - 2**-22
    assert cand.p[cand.selected] == 0
    assert cand.token == 10


def test_akunu_f32_neither_rounds_nor_penalizes() -> None:
    parameters = {"seed": 1, "repeat_penalty": 2.0, "temperature": 1.0, "logits": "f32"}
    cand = applied("akunu", parameters, [1.0001, 1.0], history=[0, 0])
    assert cand.logits.tolist() == [np.float32(1.0001), 1.0]


def test_akunu_greedy_takes_the_first_of_the_largest_and_draws_nothing() -> None:
    sampler = Akunu(seed=1)
    sampler.rng = FixedWords()
    assert _sampled(sampler, [1.0, 3.0, 3.0]).token == 1


def test_akunu_clone_goes_on_alone_and_reset_starts_again() -> None:
    logits = np.zeros(100, np.float32)
    sampler = Akunu(seed=5, temperature=1.0, repeat_penalty=1.5)
    first = [_sampled(sampler, logits).token for _ in range(5)]
    twin = sampler.clone()
    twin.accept(3)
    assert sampler.prev_tokens == []
    following = [_sampled(sampler, logits).token for _ in range(5)]
    twin.prev_tokens = []
    assert [_sampled(twin, logits).token for _ in range(5)] == following
    sampler.reset()
    assert [_sampled(sampler, logits).token for _ in range(5)] == first
    assert first != following


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([], "needs a vocabulary"),
        ([np.nan, 1.0], "NaN"),
        ([-np.inf, -np.inf], "all logits -inf"),
        ([70000.0, 0.0], "one \\+inf"),
    ],
)
def test_akunu_refuses_what_is_undefined(logits: list[float], message: str) -> None:
    with pytest.raises(UndefinedInputError, match=message):
        _sampled(Akunu(seed=1, temperature=1.0), logits)


def test_akunu_must_be_the_only_stage() -> None:
    chain = build_chain([{"top_k": {"k": 2}}, {"akunu": {"seed": 1}}])
    with pytest.raises(UndefinedInputError, match="no stage before it"):
        chain.apply(Candidates.from_logits([1.0, 2.0, 3.0]))


def test_akunu_refuses_another_overload() -> None:
    with pytest.raises(ChainError, match='logits must be "f16" or "f32"'):
        build_chain([{"akunu": {"seed": 1, "logits": "f64"}}])


def test_akunu_in_float64_is_the_law_without_rounding() -> None:
    cand = Candidates.from_logits([1.0, 0.5, 0.0], dtype=np.float64)
    Akunu(seed=1, temperature=0.5).apply(cand)
    expected = np.exp([2.0, 1.0, 0.0])
    assert cand.p == pytest.approx(expected / expected.sum(), rel=1e-14)


@pytest.mark.parametrize("preset", PRESETS)
def test_akunu_presets_are_parameters_of_akunu(preset: str) -> None:
    assert applied("akunu", {"seed": 1, **PRESETS[preset]}, [1.0, 2.0]).token in (0, 1)


# 128 of 256 equal tokens have a sum of 1/2 to the bit.
REACHED: dict[str, object] = {"seed": 1, "temperature": 1.0, "top_p": 0.5}


def _parameters() -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {
            "seed": st.integers(0, 2**32 - 2),
            "temperature": st.sampled_from([0.0, 0.2, 0.7, 1.0, 1.2, 5.0]),
            "top_k": st.sampled_from([-1, 0, 1, 2, 40, 255, 256, 257, 5000]),
            "top_p": st.sampled_from([0.0, 0.5, 0.9, 0.9999999, 1.0]),
            "min_p": st.sampled_from([0.0, 0.05, 0.3, 1.0, 1.5]),
            "repeat_penalty": st.sampled_from([1.0, 1.1, 0.5]),
            "logits": st.sampled_from(["f16", "f32"]),
        }
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    _parameters(),
    st.sampled_from(sorted(FAMILIES)),
    st.sampled_from([1, 2, 20, 256, 257, 600]),
    st.integers(0, 2**31),
    st.lists(st.integers(-1, 30), max_size=8),
)
@example(REACHED, "equal", 256, 0, [])
def test_akunu_backend_agrees_to_the_bit(
    parameters: dict[str, object], family: str, n: int, seed: int, history: list[int]
) -> None:
    worker = backend.Worker()
    for want, got in side_by_side(worker, [{"akunu": parameters}], family, n, seed, history):
        ids, left, p, _, selected = worker.result(got)
        assert ids.tolist() == want.ids.tolist()
        assert left.tobytes() == want.logits.tobytes()
        assert p.tobytes() == want.p.tobytes()
        assert selected == want.selected


def test_akunu_backend_draws_many_as_one_by_one() -> None:
    chain = complete([{"akunu": {"seed": 3, "temperature": 1.0, "top_p": 0.9}}], 100)
    logits = np.random.default_rng(1).normal(0, 2, 100).astype(np.float32)
    worker = backend.Worker()
    many = worker.build(chain, 100, None).draw(worker.candidates(logits), 50, None)
    reference = build_chain(chain)
    single = []
    for _ in range(50):
        cand = Candidates.from_logits(logits)
        reference.apply(cand)
        single.append(cand.token)
    assert many.tolist() == single
    drawn = worker.build(chain, 100, None).draw(
        worker.candidates(logits), 2, np.array([0.0, np.nextafter(1.0, 0.0)])
    )
    assert drawn[0] == logits.argmax()
