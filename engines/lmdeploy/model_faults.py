"""The stages of lmdeploy, wrong in one way each."""

import numpy as np

from sampler_parity.engines.lmdeploy.model import (
    LmdeployBans,
    LmdeployNgram,
    LmdeployPenalty,
    LmdeploySample,
)
from sampler_parity.engines.shared.torch_cpu import cumsum, softmax
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.floats import FloatArray


class PromptCounts(LmdeployPenalty):
    """The prompt is penalized, too."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class DividesAlways(LmdeployPenalty):
    """Negative logits are divided, too."""

    def apply(self, cand: Candidates) -> None:
        cand.logits[np.unique(self.past.output).astype(int)] /= self.repetition_penalty


class ByOccurrence(LmdeployPenalty):
    """Each occurrence is penalized."""

    def apply(self, cand: Candidates) -> None:
        whole = self.past
        for token in whole.output:
            self.past = type(whole)(output=[token])
            super().apply(cand)
        self.past = whole


class OtherPlaces(LmdeployNgram):
    """The last place does not count."""

    def found(self) -> int:
        return super().found() - 1


class Apart(LmdeployNgram):
    """Places do not overlap."""

    def found(self) -> int:
        text, last = self.past.output, self.past.output[-self.size :]
        count, at = 0, len(text)
        while at >= self.size:
            here = text[at - self.size : at] == last
            count, at = count + here, at - (self.size if here else 1)
        return count


class OfText(LmdeployNgram):
    """The prompt counts."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class MinimumOfText(LmdeployBans):
    """The prompt counts as new tokens."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class OneMore(LmdeployBans):
    """Stop tokens stay banned for one token more."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if len(self.past.output) == self.min_new_tokens:
            cand.logits[self.stop_token_ids] = -np.inf


class FreesZero(LmdeployBans):
    """Token 0 is never banned."""

    def apply(self, cand: Candidates) -> None:
        first = cand.logits[0]
        super().apply(cand)
        cand.logits[0] = first


class OfWhole(LmdeploySample):
    """top_p counts the mass of the whole vocabulary."""

    def apply(self, cand: Candidates) -> None:
        self.whole = np.sort(softmax(cand.logits / self.temperature))[::-1]
        super().apply(cand)

    def filtered(self, scores: FloatArray) -> FloatArray:
        p = self.whole[: len(scores)]
        return np.where(cumsum(p) - p > self.top_p, np.float32(-np.inf), scores)


class AtTheMass(LmdeploySample):
    """A token with exactly top_p before it goes."""

    def filtered(self, scores: FloatArray) -> FloatArray:
        p = softmax(scores)
        beyond = cumsum(p) - p >= self.top_p
        beyond[0] = False
        return np.where(beyond, np.float32(-np.inf), scores)


class SamePosition(LmdeploySample):
    """Every draw is at position 0."""

    def apply(self, cand: Candidates) -> None:
        self.past.clear()
        super().apply(cand)


class WholeSeed(LmdeploySample):
    """The upper 32 bits of a seed count."""

    def apply(self, cand: Candidates) -> None:
        self.seed ^= self.seed >> 32
        super().apply(cand)
        self.seed ^= self.seed >> 32


_LOGITS, _SAMPLE = "lmdeploy_logits/", "lmdeploy_sample/"
MUTANTS = [
    Mutant("lmdeploy_penalty/prompt-counts", PromptCounts, case=_LOGITS + "penalty-prompt"),
    Mutant("lmdeploy_penalty/divides-always", DividesAlways, case=_LOGITS + "penalty"),
    Mutant("lmdeploy_penalty/by-occurrence", ByOccurrence, case=_LOGITS + "penalty"),
    Mutant("lmdeploy_ngram/other-places", OtherPlaces, case=_LOGITS + "ngram"),
    Mutant("lmdeploy_ngram/apart", Apart, case=_LOGITS + "ngram-overlap"),
    Mutant("lmdeploy_ngram/of-text", OfText, case=_LOGITS + "ngram-one-less"),
    Mutant("lmdeploy_bans/minimum-of-text", MinimumOfText, case=_LOGITS + "minimum-last-banned"),
    Mutant("lmdeploy_bans/one-more", OneMore, case=_LOGITS + "minimum-reached"),
    Mutant("lmdeploy_bans/frees-zero", FreesZero, case=_LOGITS + "bans"),
    Mutant("lmdeploy_sample/of-whole", OfWhole, case=_SAMPLE + "top_p-of-what-is-left"),
    Mutant("lmdeploy_sample/at-the-mass", AtTheMass, case=_SAMPLE + "top_p-equal"),
    Mutant("lmdeploy_sample/same-position", SamePosition, case=_SAMPLE + "draws"),
    Mutant("lmdeploy_sample/whole-seed", WholeSeed, case=_SAMPLE + "draws"),
]
