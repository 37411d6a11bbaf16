"""tinygrad: the token that tinygrad's language model takes from its last row of logits.

    token = argmax(logits / max(temperature, 1e-12) - log(-log(max(u, 1e-12))))

u are the numbers of rand_like, one for each token of the vocabulary (noise.py).

Parameters:
    temperature  as float32; default 0. There is no greedy branch: 0 and below divide by 1e-12, so
                 that the noise is lost in the rounding of the largest logit.
    seed         of Tensor.manual_seed, 32 bits. Its default is the second in which tinygrad is
                 imported; generate and the server take none.
Ties: the first of the largest sums.
Edges: equal logits nearer to 0 than about 1e-4 are drawn from at temperature 0 too: there the noise
    is not lost. The noise lies in -3.32..15.95, so a token 19.27 below the largest, behind the
    temperature, never comes. -inf never comes, if another is finite.
Source: Transformer.forward (line 378) and generate (478-490), tinygrad/llm/model.py; the default
    seed: tinygrad/tensor.py (620); at 0.14.0.
Suite: engines/tinygrad/suites/tinygrad/tinygrad.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.engines.tinygrad.noise import gumbel
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.floats import FloatArray
from sampler_parity.reference.parameters import float32, uint32


class Tinygrad(Copied):
    name = "tinygrad"

    def __init__(self, seed: Any, temperature: Any = 0.0) -> None:
        self.seed = uint32("seed", seed)
        self.temperature = float32("temperature", temperature)
        self.count = 0

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "tinygrad")
        if n == 0:
            raise UndefinedInputError("no candidate: tinygrad has no argmax of none")
        sums = self.scaled(cand.logits) + self.noise(n)
        if np.isnan(sums).any():
            raise UndefinedInputError("a logit is not a number: the argmax is any")
        cand.selected = int(sums.argmax())

    def scaled(self, logits: FloatArray) -> FloatArray:
        return logits / logits.dtype.type(np.maximum(self.temperature, np.float32(1e-12)))

    def noise(self, n: int) -> FloatArray:
        self.count += n
        return gumbel(self.seed, self.count - n, n)

    def reset(self) -> None:
        self.count = 0


STAGES = {"tinygrad": Tinygrad}
