"""mirostat, wrong in one way each."""

from typing import Any, ClassVar

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import discrete
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.top_k import keep_most_likely


class RestartsMu(Mirostat):
    """mu starts at 2 tau at every step."""

    def apply(self, cand: Candidates) -> None:
        self.mu = np.float32(2) * self.tau
        super().apply(cand)


class SharesMu(Mirostat):
    """All instances share one mu."""

    shared: ClassVar[list[Any]] = [None]

    def __init__(
        self, seed: Any, n_vocab: Any, tau: Any = 5.0, eta: Any = 0.1, m: Any = 100
    ) -> None:
        super().__init__(seed, n_vocab, tau, eta, m)
        self.shared[0] = self.mu

    def apply(self, cand: Candidates) -> None:
        self.mu = self.shared[0]
        super().apply(cand)
        self.shared[0] = self.mu


class StartsAtTau(Mirostat):
    """mu starts at tau instead of 2 tau."""

    def __init__(
        self, seed: Any, n_vocab: Any, tau: Any = 5.0, eta: Any = 0.1, m: Any = 100
    ) -> None:
        super().__init__(seed, n_vocab, tau, eta, m)
        self.mu = self.tau


class SurpriseInNats(Mirostat):
    """The surprise that moves mu is a natural logarithm."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        before = self.mu
        super().apply(cand)
        surprise = -floats.log(cand.p[cand.selected])
        self.mu = before - self.eta * (surprise - self.tau)


class SurpriseBeforeTheCut(Mirostat):
    """The surprise is that of the token among all candidates."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        before = cand.p
        keep_most_likely(cand, max(floats.to_int32(self._k(cand.p)), 1))
        cand.softmax(sort=True)
        cand.selected = discrete(self.rng, cand.p)
        surprise = -floats.log2(before[cand.selected])
        self.mu = self.mu - self.eta * (surprise - self.tau)


class EtaInverted(Mirostat):
    """mu moves away from tau."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        before = self.mu
        super().apply(cand)
        surprise = -floats.log2(cand.p[cand.selected])
        self.mu = before + self.eta * (surprise - self.tau)


class MIgnored(Mirostat):
    """m has no effect: always 100."""

    def _k(self, p: floats.FloatArray) -> Any:
        m, self.m = self.m, 100
        k = super()._k(p)
        self.m = m
        return k


class OnePairMore(Mirostat):
    """s is estimated from m pairs, one too many."""

    def _k(self, p: floats.FloatArray) -> Any:
        m = self.m
        self.m = m + 1 if m > 0 else m
        k = super()._k(p)
        self.m = m
        return k


class KRoundedUp(Mirostat):
    """k is rounded up instead of cut."""

    @np.errstate(all="ignore")
    def _k(self, p: floats.FloatArray) -> Any:
        return np.ceil(super()._k(p))


class CountsCandidates(Mirostat):
    """The number of candidates is taken for the size of the vocabulary."""

    def _k(self, p: floats.FloatArray) -> Any:
        n, self.n_vocab = self.n_vocab, len(p)
        k = super()._k(p)
        self.n_vocab = n
        return k


class PowersInDouble(Mirostat):
    """Powers and quotient are computed in double."""

    @np.errstate(all="ignore")
    def _k(self, p: floats.FloatArray) -> Any:
        pairs = min(len(p) - 1, self.m - 1 if self.m > 0 else len(p))
        i = np.arange(pairs, dtype=np.float64)
        t = np.log((i + 2) / (i + 1))
        b = np.log(p[:pairs].astype(np.float64) / p[1 : pairs + 1])
        s = float((t * b).sum() / np.float64((t * t).sum()))
        e = np.float64(s - 1)
        k = (e * 2.0 ** float(self.mu) / (1 - np.float64(self.n_vocab) ** -e)) ** (1 / s)
        return np.float32(k)


class ResetKeepsMu(Mirostat):
    """Reset restarts the generator but leaves mu."""

    def reset(self) -> None:
        self.rng.seed(self.seed)


class ResetKeepsStream(Mirostat):
    """Reset restarts mu but leaves the generator where it is."""

    def reset(self) -> None:
        self.mu = np.float32(2) * self.tau


class CloneRestartsMu(Mirostat):
    """A clone starts with mu at 2 tau."""

    def clone(self) -> Mirostat:
        twin = type(self)(self.seed, self.n_vocab, self.tau, self.eta, self.m)
        twin.rng = self.rng.clone()
        return twin


MUTANTS = [
    Mutant("mirostat/restarts-mu", RestartsMu, "bug zoo 49, LCP #914"),
    Mutant("mirostat/shares-mu", SharesMu, "bug zoo 49, LC #3543", case="chains/pairs/mirostat"),
    Mutant("mirostat/starts-at-tau", StartsAtTau),
    Mutant("mirostat/surprise-in-nats", SurpriseInNats),
    Mutant("mirostat/surprise-before-the-cut", SurpriseBeforeTheCut),
    Mutant("mirostat/eta-inverted", EtaInverted),
    Mutant(
        "mirostat/m-ignored",
        MIgnored,
        "bug zoo 44",
        case="mirostat/parameters/zipf-V129-tau0.5-eta1.0-m1-n_vocabV",
    ),
    Mutant("mirostat/one-pair-more", OnePairMore),
    Mutant("mirostat/k-rounded-up", KRoundedUp),
    Mutant(
        "mirostat/counts-candidates",
        CountsCandidates,
        case="mirostat/parameters/normal-V129-tau2.0-eta-0.2-m100-n_vocab50000",
    ),
    Mutant("mirostat/powers-in-double", PowersInDouble, case="mirostat/matrix/flat-V1025-tau5.0"),
    Mutant("mirostat/reset-keeps-mu", ResetKeepsMu, "bug zoo 54, LC #21594", case="state/streams"),
    Mutant(
        "mirostat/reset-keeps-stream",
        ResetKeepsStream,
        "bug zoo 55, LC #9398",
        case="state/streams",
    ),
    Mutant("mirostat/clone-restarts-mu", CloneRestartsMu, case="state/streams"),
]
