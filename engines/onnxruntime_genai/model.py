"""onnxruntime_genai: the CPU search of ONNX Runtime GenAI: a token from logits and a text.

    1. min_length        logits of eos_token_id = -3.4028235e38 while the text is shorter
    2. repetition        x * penalty if x < 0, else x / penalty: once for a token of the text
    3. no_repeat_ngram   -3.4028235e38 for what would end an n-gram that the text has already
    4. greedy            unless do_sample, or if top_k is 1 or temperature 0: the first largest
    5. top_k > 1         std::partial_sort of k; p_i = exp((x_i - max) * (1 / temperature)) / sum;
                         with 0 < top_p < 1 the first whose running sum of p reaches top_p, and
                         those before it; then p_i * (1 / sum of the survivors).
       `top_k = 0`       as many in descending order as FindNucleus returns; then as above
    6. a draw            std::discrete_distribution<int> of p, std::mt19937(random_seed)

All in float32, sums in order. FindNucleus sorts the first 16, then 64, 256, ... and stops at the
first i with  sum_0..i e >= top_p * (sum_0..i e + (V - i - 1) * e_i):  the rest is bounded, not
added up, so that it may keep more than top-p does. Up to 64 tokens it adds up all of them.

Parameters, by the names of its search options:
    do_sample             default false: greedy, whatever else is given.
    top_k                 0..V, default 50. 1 is greedy. 0 is no limit, and then top_p cuts.
    top_p                 0..1, default 0. At 0 and 1 with a top_k no cut; without one the cut of
                          FindNucleus all the same: 0 leaves the largest, 1 what rounding leaves.
    temperature           float32, default 1. 0 is greedy; below 0 is not refused there, but here.
    repetition_penalty:   float32, default 1 (off).
    min_length:           tokens of prompt and output; default 0.
    no_repeat_ngram_size: default 0 (off).
    random_seed:          int32, default -1: a random one, as any below 0.
    eos_token_id:         list of ids, of the model's configuration; one at least, default [0].
Ties: greedy takes the first; else as std::partial_sort leaves them.
Edges: a single survivor draws no random number. With a logit of +inf every p is NaN, and the
    draw takes the first. NaN: undefined (it orders by <), refused here.
Source: src/search.cpp, src/sampling_distribution.h, src/generators.cpp of onnxruntime-genai.
Suite: engines/onnxruntime_genai/suites/onnxruntime_genai/
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32, int32, size, token_ids
from sampler_parity.reference.platforms.libstdcxx import std_partial_sort_in_place
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937, discrete

Row = NDArray[np.float32]
Order = NDArray[np.int32]

_LOWEST = np.finfo(np.float32).min
_FIRST_SORTED = 16
_GROWTH = 4


class OnnxruntimeGenai(Copied):
    name = "onnxruntime_genai"

    def __init__(
        self,
        do_sample: Any = False,
        top_k: Any = 50,
        top_p: Any = 0.0,
        temperature: Any = 1.0,
        repetition_penalty: Any = 1.0,
        min_length: Any = 0,
        no_repeat_ngram_size: Any = 0,
        random_seed: Any = -1,
        eos_token_id: Any = (0,),
    ) -> None:
        if not isinstance(do_sample, bool):
            raise ChainError(f"do_sample must be true or false, got {do_sample!r}")
        self.top_k = size("top_k", top_k)
        self.top_p = float32("top_p", top_p)
        self.temperature = float32("temperature", temperature)
        self.repetition_penalty = float32("repetition_penalty", repetition_penalty)
        self.min_length = size("min_length", min_length)
        self.no_repeat_ngram_size = size("no_repeat_ngram_size", no_repeat_ngram_size)
        self.random_seed = int32("random_seed", random_seed)
        self.eos_token_id = token_ids("eos_token_id", eos_token_id, 2**31)
        if not self.eos_token_id:
            raise ChainError("eos_token_id must have an id: without one it is the padding's")
        if not 0 <= self.top_p <= 1:
            raise ChainError(f"top_p must be in 0..1, got {top_p!r}")
        if self.temperature < 0:
            raise ChainError(f"temperature must not be below 0, got {temperature!r}")
        self.greedy = not do_sample or self.top_k == 1 or self.temperature == 0
        self.reset()

    def accept(self, token: int) -> None:
        self.text.append(token)

    def reset(self) -> None:
        self.text: list[int] = []
        self.rng = Mt19937(DEFAULT_SEED)
        if self.random_seed >= 0:
            self.rng.seed_exactly(self.random_seed)

    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "ONNX Runtime GenAI")
        if n == 0 or floats.has_nan(cand.logits):
            raise UndefinedInputError("no logits, or one that is NaN")
        scores = self.processed(cand.logits)
        if self.greedy:
            cand.selected = floats.first_largest(scores)
            return
        if self.top_k > n:
            raise ChainError(f"top_k must be at most the vocabulary's {n}, got {self.top_k}")
        ids, p = survivors(scores, self.top_k, self.top_p, self.temperature)
        cand.selected = int(ids[discrete(self.rng, p)])

    @np.errstate(all="ignore")
    def processed(self, logits: Row) -> Row:
        """Apply steps 1 to 3."""
        scores = logits.copy()
        seen = np.unique([token for token in self.text if 0 <= token < len(scores)]).astype(int)
        if len(self.text) < self.min_length:
            scores[[token for token in self.eos_token_id if token < len(scores)]] = _LOWEST
        if (penalty := self.repetition_penalty) != 1:
            old = scores[seen]
            scores[seen] = np.where(old < 0, old * penalty, old / penalty)
        for token in self._ends_of_ngrams():
            if 0 <= token < len(scores):
                scores[token] = _LOWEST
        return scores

    def _ends_of_ngrams(self) -> set[int]:
        """Return the tokens that would end an n-gram of the text once more."""
        text, n = self.text, self.no_repeat_ngram_size
        if n == 0 or len(text) < n:
            return set()
        ending = text[len(text) - n + 1 :]
        starts = range(len(text) - n + 1)
        return {text[i + n - 1] for i in starts if text[i : i + n - 1] == ending}


@np.errstate(all="ignore")
def survivors(
    scores: Row, top_k: int, top_p: np.float32, temperature: np.float32
) -> tuple[Order, Row]:
    """Return the candidates of the draw, in its order, and their probabilities."""
    inverse = np.float32(1) / temperature
    if top_k > 1:
        ids = sorting.std_partial_sort(scores, top_k)
        e = floats.exp((scores[ids] - scores[ids[0]]) * inverse)
        total = floats.total(e)
        p = e / total if total > 0 else e
        n = _reached(floats.running_sum(p), top_p) if 0 < top_p < 1 else top_k
    else:
        ids, e = nucleus(scores, top_p, inverse)
        n, p = len(ids), e
    total = floats.total(p[:n])
    return ids[:n], p[:n] * (np.float32(1) / total if total > 0 else np.float32(0))


def _reached(running: Row, threshold: np.float32) -> int:
    """Count the terms until a running sum reaches a threshold; all if none does."""
    enough = running >= threshold
    return int(enough.argmax()) + 1 if enough.any() else len(running)


def nucleus(scores: Row, p: np.float32, inverse: np.float32) -> tuple[Order, Row]:
    """Compute FindNucleus: ids, and exp((score - max) / temperature) of each."""
    n, top = len(scores), floats.largest(scores)
    few = n <= _FIRST_SORTED * _GROWTH  # then all are sorted and added up
    keys, ids = scores.copy(), np.arange(n, dtype=np.int32)
    e = np.empty(0, np.float32)
    while True:
        first, middle = len(e), min(len(e) * _GROWTH or _FIRST_SORTED, n)
        std_partial_sort_in_place(keys, ids, first, middle)
        e = np.append(e, floats.exp((keys[first:middle] - top) * inverse))
        running = floats.running_sum(e)
        behind = np.arange(n - 1, n - 1 - middle, -1).astype(np.float32) * e
        enough = running[first:] >= (p * (running + behind))[first:]
        if middle == n or (enough[:-1].any() and not few):
            break
    if few:
        enough, first = running >= p * running[-1], 0
    cut = first + int(enough.argmax()) + 1 if enough.any() else n
    return ids[:cut], e[:cut]


STAGES = {"onnxruntime_genai": OnnxruntimeGenai}
