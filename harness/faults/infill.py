"""infill, wrong in one way each."""

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, Vocab, floats
from sampler_parity.reference.samplers.infill import Infill


class Steps(Infill):
    """infill with its figures as fields, so that a fault replaces one of them."""

    end_weight = 3
    counts_candidates = True
    text_threshold = 0.2
    more_than_text = 1
    normalizes = True

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        ends = np.isin(cand.ids, self.eog)
        p_end, p_text = floats.total(cand.p[ends]), floats.total(cand.p[~ends])
        n = np.float32(len(cand) if self.counts_candidates else 1)
        if np.float32(self.end_weight) * p_end * n > p_text:
            cand.keep(ends)
            cand.p /= floats.total(cand.p)
            return
        self._merge_prefixes(cand)
        before = cand.copy()
        self._drop_text_below(cand, np.float32(self.text_threshold))
        n_text = int((~np.isin(cand.ids, self.eog)).sum())
        if n_text == 0:
            if len(cand) == 0:
                cand.ids, cand.logits, cand.p = before.ids, before.logits, before.p
            cand.keep(slice(1))
            cand.ids[0] = self.fallback()
            cand.logits[0] = 1
            return
        cand.p /= floats.total(cand.p)
        self._drop_text_below(cand, np.float32(1.0 / (n_text + self.more_than_text)))
        if self.normalizes:
            cand.p /= floats.total(cand.p)

    def fallback(self) -> int:
        return self.vocab.eot if self.vocab.eot >= 0 else self.vocab.eos


class CandidatesNotCounted(Steps):
    """The mass of the ends is not multiplied by the number of candidates."""

    counts_candidates = False


class EndWeighsOne(Steps):
    """The mass of the ends is not multiplied by 3."""

    end_weight = 1


class LowTextThreshold(Steps):
    """Text tokens stay from 0.1 on, not from 0.2."""

    text_threshold = 0.1


class SecondThresholdTooHigh(Steps):
    """The second threshold is one over the text tokens, without the one more."""

    more_than_text = 0


class NotNormalized(Steps):
    """What is left is not normalized."""

    normalizes = False


class FallsBackOnEos(Steps):
    """Where no text stays EOS is chosen, though there is an EOT."""

    def fallback(self) -> int:
        return self.vocab.eos


class FallbackKeepsTheLogit(Steps):
    """Where no text stays the logit remains that of the likeliest token, not 1."""

    def apply(self, cand: Candidates) -> None:
        top = cand.logits.max() if len(cand) else np.float32(1)
        super().apply(cand)
        if len(cand) == 1 and cand.logits[0] == 1 and cand.ids[0] == self.fallback():
            cand.logits[0] = top


class PrefixesNotMerged(Steps):
    """Tokens that are prefixes of others stay apart."""

    def _merge_prefixes(self, cand: Candidates) -> None:
        pass


class MergesIntoThePrefix(Steps):
    """Of two merged tokens always the prefix stays, also where it is the less likely one."""

    def _merge_prefixes(self, cand: Candidates) -> None:
        pieces = [self.vocab.piece(token) for token in cand.ids.tolist()]
        p, alive = cand.p.copy(), cand.logits != -np.inf
        for i, prefix in enumerate(pieces):
            for j, piece in enumerate(pieces):
                if prefix and i != j and alive[i] and alive[j] and piece.startswith(prefix):
                    p[i] += p[j]
                    p[j] = 0
                    alive[j] = False
        cand.p = p
        cand.logits = np.where(alive, cand.logits, np.float32(-np.inf))


class OnlyEosEnds(Steps):
    """EOS is the only token that counts as an end."""

    def __init__(self, vocab: Vocab | None = None) -> None:
        super().__init__(vocab)
        self.eog = np.array([self.vocab.eos], np.int32)


class EndsDropped(Steps):
    """End tokens go below the text thresholds too."""

    def _drop_text_below(self, cand: Candidates, threshold: np.float32) -> None:
        cand.keep(~(cand.p < threshold))


MUTANTS = [
    Mutant(
        "infill/candidates-not-counted", CandidatesNotCounted, case="infill/candidates-count-too"
    ),
    Mutant("infill/end-weighs-one", EndWeighsOne),
    Mutant("infill/low-text-threshold", LowTextThreshold, case="infill/text-of-a-sixth-goes"),
    Mutant(
        "infill/second-threshold-too-high", SecondThresholdTooHigh, case="infill/third-of-two-stays"
    ),
    Mutant("infill/not-normalized", NotNormalized, "bug zoo 5, MX #388"),
    Mutant("infill/falls-back-on-eos", FallsBackOnEos, case="infill/text-of-a-sixth-goes"),
    Mutant("infill/fallback-keeps-the-logit", FallbackKeepsTheLogit),
    Mutant(
        "infill/prefixes-not-merged", PrefixesNotMerged, case="infill/matrix-bpe/ties-V280-alone"
    ),
    Mutant(
        "infill/merges-into-the-prefix",
        MergesIntoThePrefix,
        case="infill/matrix-bpe/wide-V303-alone",
    ),
    Mutant("infill/only-eos-ends", OnlyEosEnds),
    Mutant("infill/ends-dropped", EndsDropped),
]
