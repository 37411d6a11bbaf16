"""gpt4all: the token that GPT4All.generate selects from a row of logits and a text.

    1. repetition   x * repeat_penalty if x <= 0, else x / repeat_penalty: once for a token of the
                    last repeat_last_n of prompt and output
    2. greedy       where temp is 0: the first largest, no filter
    3. top_k        the k largest, sorted; 0 or less: all
    4. top_p < 1    the fewest whose p comes to top_p, at least one
    5. min_p > 0    those with p of min_p times the largest's, at least one
    6. temp         x / temp
    7. a draw       std::discrete_distribution<int> of p, std::mt19937(seed)

The steps are llama.cpp's of July 2024, with min_keep 1: llama_sample_softmax sorts by std::sort.

Parameters, by the names of generate, with its defaults:
    temp            0.7. Below 0 the order is reversed after the filters.
    top_k           40
    top_p           0.4. 0 keeps one.
    min_p           0 (off)
    repeat_penalty  1.18. 1 is off.
    repeat_last_n   64
    seed            the second of Unix time in which the model is loaded: gpt4all takes no other.
Ties: as std::partial_sort, llama.cpp's bucket sort (k > 128) and std::sort leave them.
Edges: one candidate draws nothing. NaN: refused where it is sorted.
Source: gpt4all-backend/llamamodel.cpp of gpt4all 2.8.2, and the llama.cpp in it.
Suite: engines/gpt4all/suites/gpt4all/
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.repetition_penalties import RepetitionPenalties
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.older.meanings import sort
from sampler_parity.reference.older.min_p_b6133 import MinPB6133
from sampler_parity.reference.parameters import float32, int32, uint32
from sampler_parity.reference.random import DEFAULT_SEED, Mt19937, discrete

_OLD = frozenset({"std-sort"})


class Gpt4all(Copied):
    name = "gpt4all"

    def __init__(
        self,
        temp: Any = 0.7,
        top_k: Any = 40,
        top_p: Any = 0.4,
        min_p: Any = 0.0,
        repeat_penalty: Any = 1.18,
        repeat_last_n: Any = 64,
        seed: Any = DEFAULT_SEED,
    ) -> None:
        if int32("repeat_last_n", repeat_last_n) < 0:
            raise ChainError(f"repeat_last_n must be at least 0, got {repeat_last_n!r}")
        self.temp = float32("temp", temp)
        self.top_k = int32("top_k", top_k)
        self.top_p = float32("top_p", top_p)
        self.min_p = MinPB6133(_OLD, min_p, 1)
        self.penalties = RepetitionPenalties(repeat_last_n, repeat_penalty)
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)

    def accept(self, token: int) -> None:
        self.penalties.accept(token)

    def reset(self) -> None:
        self.penalties.reset()
        self.rng.seed(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if len(cand) == 0:
            raise UndefinedInputError("a token of no candidates")
        left = cand.copy()
        self.penalties.apply(left)
        if self.temp == 0:
            left.selected = int(floats.first_largest(left.logits))
        else:
            self.filters(left)
            left.logits = left.logits / left.logits.dtype.type(self.temp)
            self.draw(left)
        cand.selected = int((cand.ids == left.token).argmax())

    def filters(self, cand: Candidates) -> None:
        cand.partial_sort(min(self.top_k, len(cand)) if self.top_k > 0 else len(cand))
        if self.top_p < 1:
            cand.softmax(sort=False)
            enough = floats.running_sum(cand.p) >= self.top_p
            if enough.any():
                cand.keep(slice(int(enough.argmax()) + 1))
        self.min_p.apply(cand)

    def draw(self, cand: Candidates) -> None:
        sort(cand, _OLD)
        cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)


STAGES = {"gpt4all": Gpt4all}
