"""rwkv_penalties, rwkv_sample_logits: the sampler of the package rwkv, as its generate calls it.

    rwkv_penalties, rwkv_sample_logits

is its order. Only generated tokens count, not the prompt.

rwkv_penalties, for every token that was generated:

    logit -= alpha_presence + occurrence * alpha_frequency

    occurrence, at every step: all are multiplied by alpha_decay, then the token's grows by 1, or by
    0 where it is one of `weightless`: text of spaces, tabs and digits alone

rwkv_sample_logits:

    p = softmax(logits);  cutoff = the p at which the sum, from the largest down, reaches top_p
    p = 0 below the cutoff;  p = 0 for all but top_k;  p = p ** (1 / temperature);  p /= sum of p

Parameters, as Python holds them (float64):
    alpha_presence, alpha_frequency, alpha_decay   default 0.2, 0.2, 0.996.
    token_ban     ids that become -inf, before the penalties.
    temperature   0 is top_p 0 at temperature 1; default 1.
    top_p         default 0.85. If the float32 sum of all p stays below it, the cutoff is the
                  largest p: greedy. So 1 is greedy on more than half of all rows.
    top_k         0 and below and from the vocabulary's size on off; default 0.
    seed          of np.random.seed, 32 bits.
Ties: all that equal the cutoff stay. For top_k NumPy's argsort decides, which is not stable.
Edges: the temperature comes last and brings no token back. Below 0 removed tokens are infinite,
    and NumPy refuses NaN; if none was removed the order is reversed. No window. The occurrence of
    a weightless token is 0, but alpha_presence is still subtracted.
Source: PIPELINE.generate and sample_logits, rwkv/utils.py at 0.8.32; torch 2.13.0's softmax
    without vector instructions (torch_cpu.py). Sum, power and choice are NumPy's.
Suite: suites/rwkv
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.engines.shared.torch_cpu import softmax
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import int32, real, token_ids, uint32


class RwkvPenalties(OfPast):
    name = "rwkv_penalties"

    def __init__(
        self,
        alpha_presence: Any = 0.2,
        alpha_frequency: Any = 0.2,
        alpha_decay: Any = 0.996,
        token_ban: Any = (),
        weightless: Any = (),
    ) -> None:
        self.alpha_presence = real("alpha_presence", alpha_presence)
        self.alpha_frequency = real("alpha_frequency", alpha_frequency)
        self.alpha_decay = real("alpha_decay", alpha_decay)
        self.token_ban = token_ids("token_ban", token_ban, 2**31)
        self.weightless = set(token_ids("weightless", weightless, 2**31))
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "rwkv")
        beyond = [t for t in (*self.token_ban, *self.past.output) if not 0 <= t < n]
        if beyond:
            raise UndefinedInputError(f"token {beyond[0]} in a vocabulary of {n}: torch refuses")
        kind = cand.logits.dtype.type
        cand.logits[self.token_ban] = -np.inf
        for token, occurrence in self.occurrences().items():
            cand.logits[token] -= kind(self.alpha_presence + occurrence * self.alpha_frequency)
        cand.sorted = False

    def occurrences(self) -> dict[int, float]:
        counts: dict[int, float] = {}
        for token in self.past.output:
            counts = {seen: count * self.alpha_decay for seen, count in counts.items()}
            counts[token] = counts.get(token, 0) + (0 if token in self.weightless else 1)
        return counts


class RwkvSampleLogits(Copied):
    name = "rwkv_sample_logits"

    def __init__(
        self, seed: Any, temperature: Any = 1.0, top_p: Any = 0.85, top_k: Any = 0
    ) -> None:
        self.seed = uint32("seed", seed)
        self.temperature = real("temperature", temperature)
        self.top_p = real("top_p", top_p)
        self.top_k = int32("top_k", top_k)
        self.rng = np.random.RandomState(self.seed)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "rwkv")
        if n == 0:
            raise UndefinedInputError("no candidate: NumPy has no largest of none")
        p = self.weights(softmax(cand.logits))
        if np.isnan(p).any():
            raise UndefinedInputError("probabilities contain NaN: NumPy refuses")
        cand.p = p
        cand.selected = int(self.rng.choice(n, p=p))

    def weights(self, p: FloatArray) -> FloatArray:
        greedy = self.temperature == 0
        top_p, temperature = (0.0, 1.0) if greedy else (self.top_p, self.temperature)
        order = np.argsort(p)
        descending = p[order][::-1]
        reached = np.cumsum(descending) >= p.dtype.type(top_p)
        p = np.where(p < descending[reached.argmax()], p.dtype.type(0), p)
        if 0 < self.top_k < len(p):
            p[order[: -self.top_k]] = 0
        if temperature != 1:
            p = p ** p.dtype.type(1.0 / temperature)
        return np.asarray(p / np.sum(p))

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)


STAGES = {"rwkv_penalties": RwkvPenalties, "rwkv_sample_logits": RwkvSampleLogits}
