"""keras_hub_random, keras_hub_top_k, keras_hub_top_p: KerasHub's samplers, each a whole chain.

    p = softmax(logits / temperature)
    random:  draws from all tokens
    top_k:   draws from the k of largest p
    top_p:   sorts by p, descending, cuts to k if k is given, and keeps a token while the sum of p
             before it is at most top_p; the first always stays
    draw:    from softmax(log(p)) of the survivors

Parameters, as Python holds them (float64):
    temperature  divides the logits; default 1. 0 is not greedy: NaN, which a draw refuses.
    k            top_k: default 5; 0 and the vocabulary's size keep all, more is refused, -n removes
                 the n least likely. top_p: default None; the vocabulary's size and more is off,
                 -n removes the n last, 0 is refused.
    p            of top_p; default 0.1. No limits: below 0 as 0, the first alone is left; 1 removes
                 what comes after a float32 sum above 1.
    seed         32 bits. Each draw has a generator of its own, seeded with [seed, draws so far].
Ties: as NumPy's argpartition (top_k) and the end of its argsort, ascending (top_p) leave them.
    Neither is stable: top_p puts the highest ids of a few equal tokens first.
Edges: the sum of top_p is float32, in the order of the sort. A sum that equals p takes one more.
    -inf has p 0 and log(0) = -inf; nothing draws it.
Source: RandomSampler, TopKSampler, TopPSampler of keras_hub/src/samplers/ at 0.32.0;
    top_k, softmax, log and categorical of keras/src/backend/numpy/ at 3.15.0. NumPy's exp, sums,
    sorts and generator are those of the NumPy that both run on.
Suite: engines/keras_hub/suites/keras_hub/keras_hub.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import int32, real, uint32

Kept = tuple[FloatArray, NDArray[np.intp]]  # p of each token that may be drawn, and its id


def softmax(logits: FloatArray) -> FloatArray:
    """Return the softmax of [1, V], as Keras has it: NumPy sums along the last axis."""
    weights = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return np.asarray(weights / np.sum(weights, axis=-1, keepdims=True))


class KerasHubRandom(Copied):
    name = "keras_hub_random"

    def __init__(self, seed: Any, temperature: Any = 1.0) -> None:
        self.seed = uint32("seed", seed)
        self.temperature = real("temperature", temperature)
        self.drawn = 0

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "KerasHub")
        if n == 0:
            raise UndefinedInputError("no candidate: NumPy has no largest of none")
        p, ids = self.kept(self.probabilities(cand.logits))
        if len(p) == 0:
            raise UndefinedInputError(f"no token is left of {n}: NumPy has no largest of none")
        weights = softmax(np.log(p)[None])[0]
        number = self.counter()  # it counts, whether the draw is refused or not
        if np.isnan(weights).any():
            raise UndefinedInputError("probabilities contain NaN: NumPy refuses")
        cand.p = np.zeros_like(cand.logits)
        cand.p[ids] = weights
        seeds = np.array([self.seed, number], np.uint32)
        cand.selected = int(ids[np.random.default_rng(seeds).choice(len(p), p=weights)])

    def probabilities(self, logits: FloatArray) -> FloatArray:
        return np.asarray(softmax(logits[None] / logits.dtype.type(self.temperature))[0])

    def kept(self, p: FloatArray) -> Kept:
        return p, np.arange(len(p))

    def counter(self) -> int:
        self.drawn += 1
        return self.drawn - 1

    def reset(self) -> None:
        self.drawn = 0


class KerasHubTopK(KerasHubRandom):
    name = "keras_hub_top_k"

    def __init__(self, seed: Any, k: Any = 5, temperature: Any = 1.0) -> None:
        super().__init__(seed, temperature)
        self.k = int32("k", k)

    def kept(self, p: FloatArray) -> Kept:
        if not -len(p) <= -self.k < len(p):
            raise UndefinedInputError(f"k {self.k} of {len(p)} tokens: NumPy refuses")
        ids = np.argpartition(p, -self.k)[-self.k :]
        return p[ids], ids


class KerasHubTopP(KerasHubRandom):
    name = "keras_hub_top_p"

    def __init__(self, seed: Any, p: Any = 0.1, k: Any = None, temperature: Any = 1.0) -> None:
        super().__init__(seed, temperature)
        self.p = real("p", p)
        self.k = None if k is None else int32("k", k)

    def kept(self, p: FloatArray) -> Kept:
        ids = np.argsort(p)[::-1][: len(p) if self.k is None else self.k]
        return np.where(self.stays(p[ids]), p[ids], p.dtype.type(0)), ids

    def stays(self, p: FloatArray) -> NDArray[np.bool_]:
        """Return which p stay. p: descending."""
        enough = np.cumsum(p) <= p.dtype.type(self.p)
        return np.concatenate([np.ones_like(enough[:1]), enough[:-1]])


STAGES = {
    "keras_hub_random": KerasHubRandom,
    "keras_hub_top_k": KerasHubTopK,
    "keras_hub_top_p": KerasHubTopP,
}
