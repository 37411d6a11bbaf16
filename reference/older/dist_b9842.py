"""dist up to b9842.

Source: llama_sampler_dist_apply and llama_sample_dist, src/llama-sampling.cpp, later
src/llama-sampler.cpp.
"""

from typing import Any

import numpy as np

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.older.meanings import Old, sort
from sampler_parity.reference.random import discrete
from sampler_parity.reference.samplers.dist import Dist


class DistB9842(Dist):
    def __init__(self, old: Old, seed: Any) -> None:
        super().__init__(seed)
        self.old = old

    def apply(self, cand: Candidates) -> None:
        given_p = "dist-no-softmax" in self.old
        no_draw_for_one = "dist-one-no-draw" in self.old
        if "dist-sorts" in self.old and not given_p:
            sort(cand, self.old)
        if given_p or "dist-discrete" in self.old:
            self._draw_by_weight(cand, given_p)
            if len(cand) == 1 and not no_draw_for_one:
                self.rng.uniform_double()
        elif len(cand) == 1 and no_draw_for_one:
            cand.selected = 0
            cand.p = np.ones_like(cand.p)
        else:
            super().apply(cand)

    def _draw_by_weight(self, cand: Candidates, given_p: bool) -> None:
        """Draw as llama_sample_dist; std::discrete_distribution draws nothing for one candidate."""
        if len(cand) == 0:
            raise UndefinedInputError("dist of no candidates (llama.cpp aborts or reads beyond)")
        if not given_p:
            cand.softmax(sort=False)
        cand.selected = discrete(self.rng, cand.p)

    def clone(self) -> "DistB9842":
        twin = DistB9842(self.old, self.seed)
        twin.rng = self.rng.clone()
        return twin
