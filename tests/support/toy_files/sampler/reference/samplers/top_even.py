"""top_even: removes the tokens with an odd id.

Parameters: none.
Ties: none, the logits are not compared.
Edges: without a token with an even id, no candidate is left.
Source: this test.
Suite: suites/parity/top_even.toml
"""

import numpy as np

from sampler_parity.reference.candidates import Candidates


class TopEven:
    name = "top_even"

    def apply(self, cand: Candidates) -> None:
        cand.keep(np.flatnonzero(cand.ids % 2 == 0))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "TopEven":
        return TopEven()
