"""ik_llama.cpp's draws: llama_sample_token, _token_greedy, _xtc and _token_mirostat, _mirostat_v2.

    token    e_i = exp(logit_i - max), running sums s_i in float32, the last one doubled;
             u = s * float(word) / 2^32, word the next of std::mt19937; the first i with u < s_i.
             One candidate draws nothing. NaN, +inf, and nothing but -inf: the process ends
    xtc      draws nothing at p = 1, where it always acts
    mirostat k below 1 or NaN keeps all, in llama.cpp one; surprise is measured by p before the cut

In ik_llama.cpp all samplers of a context share its generator. A stage here has a context of its
own; the seed is llama_set_rng_seed's.

Source: src/llama-sampling.cpp of ik_llama.cpp at 55d3c05.
Suite: engines/ik_llama/suites/ik_llama/ik_functions.toml
"""

from copy import copy
from typing import Any, Self, TypeVar

import numpy as np

from sampler_parity.engines.ik_llama.model.array import softmax, sort
from sampler_parity.engines.ik_llama.model.stateless import Stateless
from sampler_parity.reference import floats
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import float32, size, uint32
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.xtc import drop_sorted_top


def walk(cand: Candidates, weights: floats.FloatArray, more: Any, rng: Mt19937) -> int:
    """Return the first index whose running sum exceeds a share of all; more: added to the last."""
    sums = floats.running_sum(weights)
    kind = weights.dtype.type
    share = sums[-1] * kind(rng.words(1)[0]) / kind(4294967296.0)
    sums[-1] += sums[-1] if more is None else kind(more)
    if np.isnan(sums).any():
        raise UndefinedInputError("a draw with a weight of NaN: ik_llama.cpp aborts")
    return int(np.searchsorted(sums, share, side="right"))


@np.errstate(all="ignore")
def token(cand: Candidates, rng: Mt19937) -> int:
    """Draw as llama_sample_token. Raises UndefinedInputError where the process would end."""
    if len(cand) == 0:
        raise UndefinedInputError("a draw of no candidates reads what is not there")
    if len(cand) == 1:
        return 0
    weights = floats.exp_of_difference(cand.logits, floats.largest(cand.logits))
    return walk(cand, weights, None, rng)


_Drawing = TypeVar("_Drawing", bound="Token | Mirostat | MirostatV2")


def _twin(sampler: _Drawing) -> _Drawing:
    twin = copy(sampler)
    twin.rng = sampler.rng.clone()
    return twin


class Token:
    name = "ik_llama_token"

    def __init__(self, seed: Any) -> None:
        self.seed = uint32("seed", seed)
        self.rng = Mt19937(self.seed)

    def apply(self, cand: Candidates) -> None:
        cand.selected = token(cand, self.rng)

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng.seed(self.seed)

    def clone(self) -> Self:
        return _twin(self)


class IkXtc(Token):
    name = "ik_llama_xtc"

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(seed)
        self.p, self.t = float32("p", p), float32("t", t)
        self.min_keep = size("min_keep", min_keep)

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.p <= 0 or self.t > 0.5 or len(cand) < 2:
            return
        if self.p < 1 and self.rng.uniform_float() > self.p:
            return
        softmax(cand)
        drop_sorted_top(cand, self.t, self.min_keep)


def greedy() -> Stateless:
    def change(cand: Candidates) -> None:
        if len(cand) == 0:
            raise UndefinedInputError("the largest of no candidates is read from what is not there")
        cand.selected = int(floats.first_largest(cand.logits))

    return Stateless("ik_llama_greedy", change)


def _steer(cand: Candidates, of: Mirostat | MirostatV2) -> None:
    """Draw, and move mu by the surprise of the token's p."""
    kind = cand.p.dtype.type
    cand.selected = token(cand, of.rng)
    surprise = -floats.log2(cand.p[cand.selected])
    of.mu = kind(of.mu) - kind(of.eta) * (surprise - kind(of.tau))


class IkMirostat(Mirostat):
    name = "ik_llama_mirostat"

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        softmax(cand)
        k = floats.to_int32(self._k(cand.p))
        sort(cand, min(k if k > 0 else len(cand), len(cand)))
        _steer(cand, self)

    def clone(self) -> "IkMirostat":
        return _twin(self)


class IkMirostatV2(MirostatV2):
    name = "ik_llama_mirostat_v2"

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        softmax(cand)
        surprising = -floats.log2(cand.p) > cand.p.dtype.type(self.mu)
        if surprising.any():
            cand.keep(slice(max(1, int(surprising.argmax()))))
        softmax(cand)
        _steer(cand, self)

    def clone(self) -> "IkMirostatV2":
        return _twin(self)
