"""The exact distributions of Akunu's two ways to draw."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model.distribution import (
    _halves,
    _roundings,
    cpu_distribution,
    first_share_of_equal,
    gumbel_distribution,
    tail_probability,
    words_up_to,
)
from sampler_parity.engines.akunu.model.gumbel_max import KNUTH, gumbel, uniforms
from sampler_parity.engines.akunu.model.pipeline import Akunu, to_half
from sampler_parity.reference import Candidates


@pytest.mark.parametrize(
    ("u", "count"),
    [
        (0.0, 1),  # the word 0
        (2.0**-32, 2),
        (2.0**-8, 2**24 + 1),  # 2**24 + 1 rounds to the even 2**24: but see the next word
        (0.5, 2**31 + 129),  # up to 2**31 + 128, halfway, to the even one
        (1 - 2.0**-24, 2**32 - 128),  # its significand is odd: 2**32 - 128 becomes 1
        (1.0, 2**32),
    ],
)
def test_words_up_to_counts_the_words_that_round_to_at_most_u(u: float, count: int) -> None:
    words = np.arange(max(0, count - 300), min(2**32, count + 300), dtype=np.int64)
    below = words.astype(np.float32) / np.float32(2**32) <= np.float32(u)
    assert words[below].max() + 1 == words_up_to(np.array([u], np.float32))[0]
    if u != 2.0**-8:
        assert words_up_to(np.array([u], np.float32))[0] == count


def test_cpu_distribution_counts_the_words_of_every_token() -> None:
    """1/2 each: r <= 1/2 has 2**31 + 129 words, by rounding to the even."""
    distribution = cpu_distribution(np.array([0.5, 0.5], np.float32))
    assert distribution.tolist() == [(2**31 + 129) / 2**32, (2**31 - 129) / 2**32]


def test_cpu_distribution_gives_the_rest_to_the_last_even_if_it_is_banned() -> None:
    """The sum of ten is 1 - 2**-22: 1023 words lie above it, of which 128 still round to it."""
    logits = np.full(11, -np.inf, np.float32)
    logits[:10] = 0.0
    cand = Candidates.from_logits(logits)
    Akunu(seed=1, temperature=1.0, logits="f32").apply(cand)
    distribution = cpu_distribution(cand.p)
    assert cand.p[-1] == 0
    assert distribution[-1] * 2**32 == 1023 - 128
    assert distribution.sum() == 1


def test_roundings_say_which_float32_become_at_most_a_float16() -> None:
    values = _halves(np.float16(-3), np.float16(40))
    bounds, inclusive = _roundings(values)
    above = np.nextafter(bounds, np.float32(np.inf))
    assert (bounds.astype(np.float16) <= values).tolist() == inclusive.tolist()
    assert (np.nextafter(bounds, np.float32(-np.inf)).astype(np.float16) <= values).all()
    assert (above.astype(np.float16) > values).all()
    assert (np.diff(values) > 0).all()


def _sampled(logits: NDArray[np.float32], temperature: float, positions: int) -> NDArray[np.int_]:
    counts = np.zeros(len(logits), np.int_)
    for position in range(positions):
        noise = gumbel(uniforms(position * KNUTH % 2**32, len(logits)))
        counts[to_half(logits + np.float32(temperature) * noise).argmax()] += 1
    return counts


@pytest.mark.slow
def test_gumbel_distribution_is_what_comes_out() -> None:
    """At 1000 float16 has steps of 1/2: the first of two equal tokens wins far more often."""
    logits = np.array([1000.0, 1000.0, 999.0], np.float32)
    distribution, n = gumbel_distribution(logits, 1.0), 40_000
    counts = _sampled(logits, 1.0, n)
    assert distribution.sum() == pytest.approx(1, abs=1e-12)
    assert (
        abs(counts - n * distribution) < 5 * np.sqrt(n * distribution * (1 - distribution))
    ).all()
    softmax = np.exp(logits - 1000) / np.exp(logits - 1000).sum()
    assert (abs(counts - n * softmax) > 5 * np.sqrt(n * softmax * (1 - softmax))).any()


def test_gumbel_distribution_leaves_out_what_is_filtered() -> None:
    distribution = gumbel_distribution(np.array([-np.inf, 3.0, -np.inf], np.float32), 0.7)
    assert distribution.tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_gumbel_distribution_tends_to_softmax_where_float16_is_fine() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
    assert gumbel_distribution(logits, 1.0) == pytest.approx(softmax_of(logits), abs=2e-4)


def softmax_of(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    p = np.exp(logits.astype(np.float64))
    return np.asarray(p / p.sum(), np.float64)


@pytest.mark.slow
def test_tail_probability_is_right_until_the_noise_ends() -> None:
    """The noise ends at 15.94: 8 nats below is drawn as it must be, 20 nats never."""
    assert tail_probability(8.0) == pytest.approx(math.exp(-8), rel=1e-4)
    assert tail_probability(16.0) < 0.8 * math.exp(-16)
    assert tail_probability(20.0) == 0


@pytest.mark.slow
def test_first_share_of_equal_grows_with_the_vocabulary() -> None:
    """Ties of 24-bit uniforms: about n / 2**24 of the maxima are shared, and go to the lower id."""
    small, large = (first_share_of_equal(n, n // 2) - 0.5 for n in (4096, 131072))
    assert 0 < small < 1e-4 < large < 1e-2
    assert large / small == pytest.approx(32, rel=0.1)
