"""onnxruntime_genai: what no suite states of ONNX Runtime GenAI's search."""

import numpy as np

from sampler_parity.engines.onnxruntime_genai.model import survivors


def left(logits: list[float], top_k: int, top_p: float, temperature: float = 1.0) -> list[int]:
    row = np.array(logits, np.float32)
    ids, _ = survivors(row, top_k, np.float32(top_p), np.float32(temperature))
    return [int(id) for id in ids]


def test_without_top_k_what_is_behind_is_bounded_from_65_tokens_on() -> None:
    # e = 1, 1/2, and 63 of 2^-20: the sum is 1.5, of which 1 is two thirds. The bound behind the
    # first is 64 times 1, so it is not enough there; behind the second 63 times 1/2, nor there
    few, many = [[0.0, -0.6931472, *[-13.862944] * n] for n in (62, 63)]
    assert left(few, 0, 0.6) == [0]
    assert len(left(many, 0, 0.6)) == 3


def test_a_temperature_spreads_the_mass_before_top_p() -> None:
    assert left([4.0, 0.0, 0.0], 3, 0.5) == [0]  # 0.96
    assert len(left([4.0, 0.0, 0.0], 3, 0.5, 8.0)) == 2  # 0.45, then 0.73
