"""The stages of ExLlamaV3, wrong in one way each."""

import numpy as np

from sampler_parity.engines.exllamav3.model import Exllamav3Combo, Exllamav3Xtc, Tokens
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.floats import FloatArray


class CrossingLeftOut(Exllamav3Combo):
    """The token that crosses top_p goes, too."""

    def nucleus(self, p: FloatArray) -> FloatArray:
        goes = np.cumsum(p) >= p.dtype.type(self.top_p)
        goes[0] = False
        return np.where(goes, 0 * p, p)


class AlwaysLast(Exllamav3Combo):
    """The temperature is always behind the filters."""

    def apply(self, cand: Candidates) -> None:
        self.temp_last = True
        super().apply(cand)


class HighestIds(Exllamav3Combo):
    """The highest ids of equal tokens stay at top_k's cut."""

    def cut(self, tokens: Tokens) -> None:
        tokens.logits, tokens.ranked = tokens.logits[::-1].copy(), tokens.ranked[::-1]
        ids = tokens.ranked
        super().cut(tokens)
        tokens.ranked = ids[tokens.ranked]


class ShareLost(Exllamav3Xtc):
    """The mass of excluded tokens is not given to the others before p is mixed."""

    def scaled(self, p: FloatArray) -> FloatArray:
        above = p >= p.dtype.type(self.threshold)
        excluded = above & (np.cumsum(above) < above.sum())
        return np.where(excluded, p * p.dtype.type(1 - self.probability), p)


class AllGo(Exllamav3Xtc):
    """The least likely above the threshold goes, too."""

    def scaled(self, p: FloatArray) -> FloatArray:
        return np.where(p >= p.dtype.type(self.threshold), p * 0, p)


class OneIsEnough(Exllamav3Xtc):
    """A token that is alone above the threshold goes, too."""

    def scaled(self, p: FloatArray) -> FloatArray:
        above = p >= p.dtype.type(self.threshold)
        return np.where(above, 0 * p, p) if above.sum() == 1 else super().scaled(p)


MUTANTS = [
    Mutant("exllamav3_combo/crossing-left-out", CrossingLeftOut, case="combo/filters"),
    Mutant("exllamav3_combo/always-last", AlwaysLast, case="combo/temperature-first"),
    Mutant("exllamav3_combo/highest-ids", HighestIds, case="combo/top_k-ties"),
    Mutant("exllamav3_xtc/share-lost", ShareLost, case="combo/xtc-mean"),
    Mutant("exllamav3_xtc/all-go", AllGo, case="combo/xtc-always"),
    Mutant("exllamav3_xtc/one-is-enough", OneIsEnough, case="combo/xtc-one"),
]
