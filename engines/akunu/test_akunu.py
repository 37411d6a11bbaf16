"""akunu: Akunu's CPU pipeline, by hand, at its edges, and against the independent backend."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler_parity.engines.akunu import cpu as backend
from sampler_parity.engines.akunu.model.pipeline import Akunu
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.reference import Candidates
from tests.support.applied import FixedWords, side_by_side
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


def _sampled(sampler: Akunu, logits: object) -> Candidates:
    cand = Candidates.from_logits(logits)  # type: ignore[arg-type]
    sampler.apply(cand)
    return cand


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


def test_akunu_in_float64_is_the_law_without_rounding() -> None:
    cand = Candidates.from_logits([1.0, 0.5, 0.0], dtype=np.float64)
    Akunu(seed=1, temperature=0.5).apply(cand)
    expected = np.exp([2.0, 1.0, 0.0])
    assert cand.p == pytest.approx(expected / expected.sum(), rel=1e-14)


# 128 of 256 equal tokens have a sum of 1/2 to the bit.
REACHED: dict[str, object] = {"seed": 1, "temperature": 1.0, "top_p": 0.5}


def _parameters() -> st.SearchStrategy[dict[str, object]]:
    sampled = {name: st.sampled_from(values) for name, values in CASES["sampled"].items()}
    return st.fixed_dictionaries({"seed": st.integers(0, 2**32 - 2), **sampled})


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
