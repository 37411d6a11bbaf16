"""transformers_js: one step of Transformers.js's `generate`, logits to token.

    seen:     every token of prompt and output:  l = l * penalty if l < 0 else l / penalty

    n-grams   -inf for a token that would end one of no_repeat_ngram_size that was there before

    l         = l / temperature                                     greedy at 0: the first largest
    keep:     the top_k largest, equal ones by id                   ONNX Runtime's TopK
    e:        = float32(Math.exp(l - max));  p = float32(e / sum of e in double)
    token:    x = u * sum of p in double; the first for which x -= p is below 0, else the last

Each operation computes in double and is rounded to float32 as it is stored: 1.1 is 1.1 and not
float32's 1.1. The temperature comes before top_k, the only filter.

Parameters (defaults are GenerationConfig's):
    seed                  of `random`, Python's generator: init_by_array, 53 bits. uint32.
    do_sample             false: the first largest logit, after penalty and n-grams.
    temperature           double. 0 turns to greedy. Below 0 it is accepted and reverses the order.
    top_k                 int32, 50; 0 and less: all.
    repetition_penalty    double; 1 is off.
    no_repeat_ngram_size  integer; 0 is off.
    top_p, min_p, typical_p  silently ignored: `generate` makes no processor of them.
Ties: the lower id, in the argmax and in top_k.
Edges: if rounding leaves x at 0 or above the last of top_k is drawn, whatever its p. The same if
    every p is NaN: all logits -inf, one +inf, infinities of a tiny temperature.
    NaN: refused, its place in a sort is undocumented. In the argmax one at 0 stays, others are
    skipped. The candidates must be the whole vocabulary, which is left as it is.
Source: src/generation/logits_sampler.js, logits_process.js and utils/random.js of
    @huggingface/transformers 4.3.1.
Suite: engines/transformers_js/suites/transformers_js/js_generate.toml
"""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import v8_math
from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import int32, size, uint32

Row = NDArray[np.float32]


class TransformersJs(OfPast):
    name = "transformers_js"

    def __init__(
        self,
        seed: Any,
        do_sample: Any = False,
        temperature: Any = 1.0,
        top_k: Any = 50,
        repetition_penalty: Any = 1.0,
        no_repeat_ngram_size: Any = 0,
        top_p: Any = 1.0,
        min_p: Any = 0.0,
        typical_p: Any = 1.0,
    ) -> None:
        if not isinstance(do_sample, bool):
            raise ChainError(f"do_sample must be true or false, got {do_sample!r}")
        for name, value in (("top_p", top_p), ("min_p", min_p), ("typical_p", typical_p)):
            double(name, value)
        self.seed = uint32("seed", seed)
        self.temperature = double("temperature", temperature)
        self.do_sample = do_sample
        self.top_k = int32("top_k", top_k)
        self.repetition_penalty = double("repetition_penalty", repetition_penalty)
        self.no_repeat_ngram_size = size("no_repeat_ngram_size", no_repeat_ngram_size)
        self.past = Past()
        self.rng = random.Random(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "transformers.js")
        logits = cand.logits.astype(np.float32)
        penalize(logits, self.past.text, self.repetition_penalty)
        logits[banned(self.past.text, self.no_repeat_ngram_size, len(logits))] = -np.inf
        if self.do_sample and self.temperature != 0:
            cand.selected = draw(divided(logits, self.temperature), self.top_k, self.rng.random())
        else:
            cand.selected = first_largest(logits)

    def reset(self) -> None:
        super().reset()
        self.rng.seed(self.seed)

    def clone(self) -> "TransformersJs":
        twin = super().clone()
        twin.rng = random.Random()
        twin.rng.setstate(self.rng.getstate())
        return twin


def double(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or np.isnan(value):
        raise ChainError(f"{name} must be a number, got {value!r}")
    return float(value)


def penalize(logits: Row, text: list[int], penalty: float) -> None:
    """Penalize in place, once for each token of the text; ids outside the vocabulary are
    ignored."""
    if penalty == 1:
        return
    tokens = [token for token in set(text) if 0 <= token < len(logits)]
    old = logits[tokens].astype(np.float64)
    logits[tokens] = np.where(old < 0, old * penalty, old / np.float64(penalty))


def banned(text: list[int], n: int, n_vocab: int) -> list[int]:
    """Return the tokens that have followed the last n - 1 of the text before."""
    if n <= 0 or len(text) + 1 < n:
        return []
    begun = text[len(text) + 1 - n :]
    ends = [text[i + n - 1] for i in range(len(text) - n + 1) if text[i : i + n - 1] == begun]
    return [token for token in ends if 0 <= token < n_vocab]


def divided(logits: Row, temperature: float) -> Row:
    if temperature == 1:
        return logits
    return (logits.astype(np.float64) / np.float64(temperature)).astype(np.float32)


def first_largest(logits: Row) -> int:
    """Return the first largest: a NaN in front stays, any other is never above."""
    return 0 if np.isnan(logits[0]) else int(np.nanargmax(logits))


def draw(logits: Row, top_k: int, uniform: float) -> int:
    if np.isnan(logits).any():
        raise UndefinedInputError(
            "a logit is NaN: its place in ONNX Runtime's TopK is undocumented"
        )
    k = min(top_k, len(logits)) if top_k > 0 else len(logits)
    order = np.argsort(-logits, kind="stable")[:k]
    left = logits[order].astype(np.float64)
    weights = v8_math.exp(left - left[0]).astype(np.float32)
    p = (weights.astype(np.float64) / floats.total(weights.astype(np.float64))).astype(np.float32)
    return int(order[weighted_index(p.astype(np.float64), uniform)])


def weighted_index(p: NDArray[np.float64], uniform: float) -> int:
    """Subtract p one by one: the running difference, not a running sum."""
    rest = uniform * floats.total(p)
    below = np.subtract.accumulate(np.concatenate(([rest], p)))[1:] < 0
    return int(below.argmax()) if below.any() else len(p) - 1


STAGES = {"transformers_js": TransformersJs}
