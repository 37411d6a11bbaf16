"""exllamav3_combo and exllamav3_xtc: the candidates of ExLlamaV3's samplers before the draw.

exllamav3_combo is ComboSampler: temperature, min_p, top_k, top_p, or the temperature last.
exllamav3_xtc is SS_XTC: of p >= threshold all but the least likely go with probability p; shown is
the mean of both outcomes:

    p *= (1 - probability) / (1 + probability * m / (1 - m)) where excluded, m their mass;  p /= sum

Parameters:
    temperature  float; 1 is off; 0 is greedy, as top_k 1 is. Default 1.
    min_p        in 0..1, 0 is off; p >= max * min_p stays. Default 0.
    top_k        below 1 off. Default 0.
    top_p        in 0..1, 1 is off; what comes before a token sums to less than it. Default 1.
    temp_last    the temperature behind the filters, as a power of p. Default false.
    probability  in 0..1, 0 is off.
    threshold    in 0..1, above 0.5 off.
Ties: as torch's sort leaves them, libstdc++'s: up to 16 tokens the lower id first.
Edges: the first token stays. p is normalized before min_p, top_p, xtc and the end, each time by
    softmax of logits or by torch's sum.
Source: ComboSampler and SS_* of exllamav3/generator/sampler/ at 1.6.5.
Suite: engines/exllamav3/suites/exllamav3/combo.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.shared.torch_cpu import cumsum, descending, softmax, total
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import int32, real
from sampler_parity.reference.sampler import Stateless


def unit(name: str, value: Any) -> float:
    if not 0 <= real(name, value) <= 1:
        raise ChainError(f"{name} must be in 0..1, got {value!r}")
    return real(name, value)


class Tokens:
    """Logits, or p once it is known; ranked: their ids."""

    def __init__(self, logits: FloatArray) -> None:
        self.logits: FloatArray = logits.copy()
        self.p: FloatArray | None = None
        self.ranked = np.arange(len(logits))
        self.sorted = self.normalized = False

    def normalize(self) -> FloatArray:
        if self.p is None:
            self.p = softmax(self.logits)
        elif not self.normalized:
            self.p = self.p / total(self.p)
        self.normalized = True
        return self.p

    def changed(self, p: FloatArray) -> None:
        self.p, self.normalized = p, False

    def sort(self) -> None:
        if self.sorted:
            return
        values = self.logits if self.p is None else self.p
        order = descending(values)
        self.ranked, self.sorted = order, True
        if self.p is None:
            self.logits = values[order]
        else:
            self.p = values[order]


class Exllamav3Combo(Stateless):
    name = "exllamav3_combo"

    def __init__(
        self,
        temperature: Any = 1.0,
        min_p: Any = 0.0,
        top_k: Any = 0,
        top_p: Any = 1.0,
        temp_last: Any = False,
    ) -> None:
        self.temperature = real("temperature", temperature)
        self.min_p, self.top_p = unit("min_p", min_p), unit("top_p", top_p)
        self.top_k = int32("top_k", top_k)
        self.temp_last = bool(temp_last)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n, kind = size_of_vocabulary(cand, "ExLlamaV3"), cand.logits.dtype.type
        if self.temperature == 0 or self.top_k == 1:
            cand.selected = floats.first_largest(cand.logits)
            cand.p = (np.arange(n) == cand.selected).astype(kind)
            return
        tokens = Tokens(cand.logits)
        if not self.temp_last:
            self.temper(tokens)
        if self.min_p != 0:
            p = tokens.normalize()
            tokens.changed(np.where(p >= p.max() * kind(self.min_p), p, kind(0)))
        if self.top_k >= 1:
            self.cut(tokens)
        if self.top_p != 1:
            tokens.normalize()
            tokens.sort()
            tokens.changed(self.nucleus(tokens.normalize()))
        if self.temp_last:
            self.temper(tokens)
        cand.p = np.zeros(n, kind)
        cand.p[tokens.ranked] = tokens.normalize()

    def cut(self, tokens: Tokens) -> None:
        tokens.sort()
        if tokens.p is None:
            tokens.logits[self.top_k :] = -np.inf
        else:
            tokens.changed(np.where(np.arange(len(tokens.p)) < self.top_k, tokens.p, 0 * tokens.p))

    def nucleus(self, p: FloatArray) -> FloatArray:
        """Return p after top_p. p: descending."""
        stays = cumsum(p) - p < p.dtype.type(self.top_p)
        stays[0] = True
        return np.where(stays, p, 0 * p)

    def temper(self, tokens: Tokens) -> None:
        if self.temperature == 1:
            return
        if tokens.p is None:
            tokens.logits = tokens.logits / tokens.logits.dtype.type(self.temperature)
        else:
            exponent = tokens.p.dtype.type(1 / self.temperature)
            tokens.changed(np.asarray(floats.powers(tokens.p, exponent)))


class Exllamav3Xtc(Stateless):
    name = "exllamav3_xtc"

    def __init__(self, probability: Any, threshold: Any) -> None:
        self.probability = unit("probability", probability)
        self.threshold = unit("threshold", threshold)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n, kind = size_of_vocabulary(cand, "ExLlamaV3"), cand.logits.dtype.type
        tokens = Tokens(cand.logits)
        p = tokens.normalize()
        if self.probability != 0 and self.threshold <= 0.5:
            tokens.sort()
            p = tokens.normalize()
            count = n if self.threshold <= 0 else min(n, int(1 / self.threshold) + 1)
            tokens.changed(np.concatenate([self.scaled(p[:count]), p[count:]]))
        cand.p = np.zeros(n, kind)
        cand.p[tokens.ranked] = tokens.normalize()

    def scaled(self, p: FloatArray) -> FloatArray:
        """Return p after XTC. p: descending, the last of which may be too small."""
        kind = p.dtype.type
        above = p >= kind(self.threshold)
        excluded = above & (np.cumsum(above) < above.sum())
        mass, one, share = total(p * excluded), kind(1), kind(self.probability)
        scale = one / (one + share * mass / (one - mass)) * kind(1 - self.probability)
        return np.asarray(np.where(excluded, p * scale, p))


STAGES = {"exllamav3_combo": Exllamav3Combo, "exllamav3_xtc": Exllamav3Xtc}
