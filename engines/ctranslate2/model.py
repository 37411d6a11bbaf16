"""ctranslate2: CTranslate2's search without beams on the CPU, whole: a token of logits and a text.

    1. repetition    x * penalty if x < 0, else x / penalty: once for a token of the text
    2. n-grams       -3.4028235e38 for what would end an n-gram that the text has already
    3. greedy        where sampling_topk is 1 or sampling_temperature 0: the first largest
    4. sampling_topk      std::partial_sort of so many; 0 takes all, as they stand
    5. temperature        x * (1 / temperature)
    6. sampling_topp < 1  by std::sort of their p a token stays while the sum of p before it is
                          below sampling_topp; of the others x = -3.4028235e38
    7. a draw             std::discrete_distribution<int> of p, std::mt19937(seed)

p = exp(x - max) * (1 / sum) in float32. CTranslate2 has an exp and an order of the sum for each set
of vector instructions. Here exp is glibc's and the sum sequential, so p may differ in its last
bits: another token about once in ten million draws.

Parameters, by the names of generate_batch:
    sampling_topk         0..V, default 1: greedy. 0 is no limit.
    sampling_topp         0 < p <= 1, default 1 (off).
    sampling_temperature  default 1. 0 is greedy; below 0 is not refused there, but here.
    repetition_penalty    above 0, default 1 (off).
    no_repeat_ngram_size  default 0 (off).
    seed                  of set_random_seed: uint32, 4294967295 a random one.
The text begins after the first token of the prompt, which CTranslate2 does not count; with
include_prompt_in_result = false it would not count the prompt at all. If a penalty or n-grams are
on, the whole text is passed with every token. The sampler draws for each token of the text, too,
before it puts the given token in the place of the drawn one: two words each.
Ties: greedy takes the first; else as std::partial_sort and std::sort leave them.
Edges: one candidate draws nothing. NaN: undefined (it orders by <), refused here.
Source: src/sampling.cc, decoding.cc, decoding_utils.cc, ops/topp_mask_cpu.cc of CTranslate2 4.8.
Suite: engines/ctranslate2/suites/ctranslate2/
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32, size, uint32
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937, discrete

Row = NDArray[np.float32]
Order = NDArray[np.int32]

_LOWEST = np.finfo(np.float32).min
_WORDS = 2  # of the generator, a draw


class Ctranslate2(Copied):
    name = "ctranslate2"

    def __init__(
        self,
        sampling_topk: Any = 1,
        sampling_topp: Any = 1.0,
        sampling_temperature: Any = 1.0,
        repetition_penalty: Any = 1.0,
        no_repeat_ngram_size: Any = 0,
        seed: Any = DEFAULT_SEED,
    ) -> None:
        self.top_k = size("sampling_topk", sampling_topk)
        self.top_p = float32("sampling_topp", sampling_topp)
        self.temperature = float32("sampling_temperature", sampling_temperature)
        self.repetition_penalty = float32("repetition_penalty", repetition_penalty)
        self.no_repeat_ngram_size = size("no_repeat_ngram_size", no_repeat_ngram_size)
        self.seed = uint32("seed", seed)
        if not 0 < self.top_p <= 1:
            raise ChainError(f"sampling_topp must be above 0 and at most 1, got {sampling_topp!r}")
        if self.temperature < 0:
            problem = f"sampling_temperature must not be below 0, got {sampling_temperature!r}"
            raise ChainError(problem)
        if self.repetition_penalty <= 0:
            raise ChainError(f"repetition_penalty must be above 0, got {repetition_penalty!r}")
        self.greedy = self.top_k == 1 or self.temperature == 0
        self.reads_text = self.repetition_penalty != 1 or self.no_repeat_ngram_size > 0
        self.reset()

    def accept(self, token: int) -> None:
        self.text.append(token)

    def reset(self) -> None:
        self.text: list[int] = []
        self.rng = Mt19937(self.seed)

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "CTranslate2")
        if n == 0 or floats.has_nan(cand.logits):
            raise UndefinedInputError("no logits, or one that is NaN")
        scores = self.processed(cand.logits) if self.reads_text else cand.logits
        if self.greedy:
            cand.selected = floats.first_largest(scores)
            return
        if self.top_k > n:
            problem = f"sampling_topk must be at most the vocabulary's {n}, got {self.top_k}"
            raise ChainError(problem)
        ids, p = survivors(scores, self.top_k, self.top_p, self.temperature)
        if self.reads_text and len(p) > 1:
            self.rng.words(_WORDS * len(self.text))
        cand.selected = int(ids[discrete(self.rng, p)])

    @np.errstate(all="ignore")
    def processed(self, logits: Row) -> Row:
        """Apply steps 1 and 2."""
        scores = logits.copy()
        seen = np.unique([token for token in self.text if 0 <= token < len(scores)]).astype(int)
        if (penalty := self.repetition_penalty) != 1:
            old = scores[seen]
            scores[seen] = np.where(old < 0, old * penalty, old / penalty)
        text, n = self.text, self.no_repeat_ngram_size
        if 0 < n <= len(text):
            ending = text[len(text) - n + 1 :]
            starts = range(len(text) - n + 1)
            scores[[text[i + n - 1] for i in starts if text[i : i + n - 1] == ending]] = _LOWEST
        return scores


@np.errstate(all="ignore")
def survivors(
    scores: Row, top_k: int, top_p: np.float32, temperature: np.float32
) -> tuple[Order, Row]:
    """Return the candidates of the draw in its order, and their p: 0 if top_p masks them."""
    ids = np.arange(len(scores), dtype=np.int32)
    if 0 < top_k < len(scores):
        ids = sorting.std_partial_sort(scores, top_k)
    x = scores[ids]
    if temperature != 1:
        x = x * (np.float32(1) / temperature)
    if top_p < 1:
        p = softmax(x)
        order = sorting.std_sort(p)
        before = np.append(np.float32(0), floats.running_sum(p[order]))[:-1]
        x[order[~(before < top_p)]] = _LOWEST
    return ids, softmax(x)


def softmax(x: Row) -> Row:
    e = floats.exp(x - floats.largest(x))
    return np.asarray(e * (np.float32(1) / floats.total(e)))


STAGES = {"ctranslate2": Ctranslate2}
