"""ctranslate2: what no suite states of CTranslate2's sampling."""

import numpy as np

from sampler_parity.engines.ctranslate2.model import Ctranslate2, survivors
from sampler_parity.reference import Candidates


def left(logits: list[float], top_k: int, top_p: float, temperature: float = 1.0) -> list[int]:
    row = np.array(logits, np.float32)
    ids, p = survivors(row, top_k, np.float32(top_p), np.float32(temperature))
    return [int(id) for id in ids[p > 0]]


def token(sampler: Ctranslate2, logits: list[float]) -> int | None:
    cand = Candidates.from_logits(np.array(logits, np.float32))
    sampler.apply(cand)
    return cand.token


def test_a_temperature_spreads_the_mass_behind_top_k_and_before_top_p() -> None:
    assert left([4.0, 0.0, 0.0], 0, 0.5) == [0]  # 0.96
    assert len(left([4.0, 0.0, 0.0], 0, 0.5, 8.0)) == 2  # 0.45, then 0.73


def test_a_text_that_is_read_takes_two_words_a_token() -> None:
    reads = Ctranslate2(sampling_topk=0, repetition_penalty=1.001, seed=5)
    plain = Ctranslate2(sampling_topk=0, seed=5)
    reads.accept(49)
    plain.rng.words(2)
    logits = [0.0] * 49 + [-100.0]  # the penalized one is never drawn
    assert token(reads, logits) == token(plain, logits)
