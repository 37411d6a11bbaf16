"""Samplers that are wrong once in a long while, whatever they are asked: no replay shows it again.

The counters are of the process, so that a case meets the fault by its place among others alone.
"""

from itertools import count

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.penalties import Penalties


class EveryThousandthDraw(Dist):
    """Every thousandth draw of the process is that of its neighbour."""

    draws = count(1)

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if next(self.draws) % 1000 == 0 and len(cand) > 1:
            cand.selected = (cand.selected + 1) % len(cand)


class AcceptedTooLate(Penalties):
    """Every 500th time the last accepted token is not yet in the window."""

    applied = count(1)

    def apply(self, cand: Candidates) -> None:
        if next(self.applied) % 500 or len(self.history) == 0:
            super().apply(cand)
            return
        whole = self.history.copy()
        newest = list(whole)[-1]
        self.history.clear()
        for token in list(whole)[:-1]:
            self.history.append(token)
        super().apply(cand)
        self.history.append(newest)


class ResetLeftOut(Dist):
    """Every 20th reset leaves the generator where it is."""

    resets = count(1)

    def reset(self) -> None:
        if next(self.resets) % 20:
            super().reset()


class LostAtTheSeam(MinP):
    """Of every 100th row of over 1,024 candidates the one between two threads' halves is lost."""

    long_rows = count(1)

    def apply(self, cand: Candidates) -> None:
        seam = int(cand.ids[len(cand) // 2]) if len(cand) > 1024 else -1
        super().apply(cand)
        if seam >= 0 and next(self.long_rows) % 100 == 0:
            cand.keep(np.flatnonzero(cand.ids != seam))


MUTANTS = [
    Mutant("dist/every-thousandth-draw", EveryThousandthDraw, case="draws/"),
    Mutant("dist/reset-left-out", ResetLeftOut),
    Mutant("min_p/lost-at-the-seam", LostAtTheSeam),
    Mutant("penalties/accepted-too-late", AcceptedTooLate, case="state/"),
]
