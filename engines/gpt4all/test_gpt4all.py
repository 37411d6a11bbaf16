"""backend "gpt4all": llama.cpp's chains in its words, its random numbers, its model's words."""

from typing import Any

import pytest

from sampler_parity.engines.gpt4all.mapped_model import Numbers
from sampler_parity.engines.gpt4all.worker import options_of
from sampler_parity.engines.shared.table_model import gguf
from sampler_parity.harness.errors import Unsupported

TOP_K, TOP_P, MIN_P = {"top_k": {"k": 40}}, {"top_p": {"p": 0.9}}, {"min_p": {"p": 0.1}}
TEMP: dict[str, Any] = {"temp": {"temp": 2.0}}
DIST: dict[str, Any] = {"dist": {"seed": 7}}


def test_a_chain_in_gpt4alls_order_becomes_parameters_of_generate() -> None:
    wanted = {"top_k": 40, "top_p": 0.9, "min_p": 0.1, "temp": 2.0, "seed": 7}
    got = options_of([TOP_K, TOP_P, MIN_P, TEMP, DIST])
    assert got == wanted | {"repeat_penalty": 1.0}
    assert options_of([{"greedy": {}}])["temp"] == 0.0
    assert options_of([{"gpt4all": {"seed": 1}}]) == {"seed": 1}


def test_another_order_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="penalties, top_k, top_p, min_p, temp, in this order"):
        options_of([TEMP, TOP_K, DIST])


def test_a_seed_becomes_the_text_of_a_fresh_mt19937() -> None:
    """The first word of std::mt19937(5) is its seed, the second 1812433253 * 5 ^ (5 >> 30) + 1."""
    words = Numbers(5).text.split()
    second = (1812433253 * 5 + 1) % 2**32
    assert (len(words), words[:2], words[-1]) == (625, [b"5", str(second).encode()], b"624")


def test_words_of_a_table_are_letters_and_none_is_another() -> None:
    words = [gguf.word(token) for token in range(5000)]
    assert (words[1], words[31]) == (" b", " bp")
    assert len(set(words)) == 5000
    assert all(word.strip().isalpha() for word in words)
