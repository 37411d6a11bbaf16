"""toy_draw: draws from the softmax with np.random.RandomState."""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import uint32


class ToyDraw:
    name = "toy_draw"

    def __init__(self, seed: Any) -> None:
        self.seed = uint32("seed", seed)
        self.reset()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if len(cand) == 0:
            raise UndefinedInputError("no candidate: NumPy has no largest of none")
        logits = cand.logits.astype(np.float64)
        weights = np.exp(logits - logits.max())
        p = weights / weights.sum()
        if np.isnan(p).any():
            raise UndefinedInputError("probabilities contain NaN: NumPy refuses")
        cand.p = p.astype(cand.logits.dtype)
        cand.selected = self.drawn(p)

    def drawn(self, p: Any) -> int:
        return int(self.rng.choice(len(p), p=p))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)

    def clone(self) -> "ToyDraw":
        twin = type(self)(self.seed)
        twin.rng.set_state(self.rng.get_state())
        return twin


STAGES = {"toy_draw": ToyDraw}
