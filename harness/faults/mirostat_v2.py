"""mirostat_v2, wrong in one way each."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import discrete
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2


class Steps(MirostatV2):
    """mirostat_v2 with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.softmax(sort=True)
        before = cand.p
        cand.keep(slice(self.cut(-floats.log2(cand.p))))
        cand.softmax(sort=True)
        cand.selected = discrete(self.rng, cand.p)
        surprise = self.surprise(cand, before)
        self.mu = np.float32(self.mu) - self.eta * (surprise - self.tau)

    def cut(self, surprises: NDArray[Any]) -> int:
        surprising = surprises > self.mu
        return max(1, int(surprising.argmax())) if surprising.any() else len(surprises)

    def surprise(self, cand: Candidates, _before: NDArray[Any]) -> Any:
        return -floats.log2(cand.p[cand.selected])


class RestartsMu(Steps):
    """mu starts at 2 tau at every step."""

    def apply(self, cand: Candidates) -> None:
        self.mu = np.float32(2) * self.tau
        super().apply(cand)


class SharesMu(Steps):
    """All instances share one mu."""

    shared: ClassVar[list[Any]] = [None]

    def __init__(self, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        super().__init__(seed, tau, eta)
        self.shared[0] = self.mu

    def apply(self, cand: Candidates) -> None:
        self.mu = self.shared[0]
        super().apply(cand)
        self.shared[0] = self.mu


class StartsAtTau(Steps):
    """mu starts at tau instead of 2 tau."""

    def __init__(self, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        super().__init__(seed, tau, eta)
        self.mu = self.tau


class CutsAtMu(Steps):
    """A token whose surprise equals mu goes."""

    def cut(self, surprises: NDArray[Any]) -> int:
        surprising = surprises >= self.mu
        return max(1, int(surprising.argmax())) if surprising.any() else len(surprises)


class NothingLeftKeepsAll(Steps):
    """Where even the first token is too surprising all stay, not one."""

    def cut(self, surprises: NDArray[Any]) -> int:
        surprising = surprises > self.mu
        return int(surprising.argmax()) or len(surprises)


class SurpriseInNats(Steps):
    """The surprise that moves mu is a natural logarithm."""

    def surprise(self, cand: Candidates, _before: NDArray[Any]) -> Any:
        return -floats.log(cand.p[cand.selected])


class SurpriseBeforeTheCut(Steps):
    """The surprise is that of the token among all candidates."""

    def surprise(self, cand: Candidates, before: NDArray[Any]) -> Any:
        return -floats.log2(before[cand.selected])


class EtaIgnored(Steps):
    """eta has no effect: always 0.1."""

    def __init__(self, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        super().__init__(seed, tau, 0.1)


class ResetKeepsMu(Steps):
    """Reset restarts the generator but leaves mu."""

    def reset(self) -> None:
        self.rng.seed(self.seed)


class ResetKeepsStream(Steps):
    """Reset restarts mu but leaves the generator where it is."""

    def reset(self) -> None:
        self.mu = np.float32(2) * self.tau


class CloneRestartsMu(Steps):
    """A clone starts with mu at 2 tau."""

    def clone(self) -> MirostatV2:
        twin = type(self)(self.seed, self.tau, self.eta)
        twin.rng = self.rng.clone()
        return twin


class CloneSharesStream(Steps):
    """A clone draws from the same generator object."""

    def clone(self) -> MirostatV2:
        twin = super().clone()
        twin.rng = self.rng
        return twin


MUTANTS = [
    Mutant(
        "mirostat_v2/restarts-mu",
        RestartsMu,
        "bug zoo 49, LCP #914",
        case="mirostat_v2/matrix/normal-V2-tau2.0-eta0.5",
    ),
    Mutant(
        "mirostat_v2/shares-mu", SharesMu, "bug zoo 49, LC #3543", case="chains/pairs/mirostat_v2"
    ),
    Mutant("mirostat_v2/starts-at-tau", StartsAtTau, case="mirostat_v2/starts-at-two-tau"),
    Mutant("mirostat_v2/cuts-at-mu", CutsAtMu, case="mirostat_v2/surprise-equal-to-mu"),
    Mutant(
        "mirostat_v2/nothing-left-keeps-all",
        NothingLeftKeepsAll,
        "bug zoo 16, LC #13405",
        case="mirostat_v2/surprise-above-mu",
    ),
    Mutant(
        "mirostat_v2/surprise-in-nats",
        SurpriseInNats,
        case="mirostat_v2/matrix/normal-V129-tau2.0-eta0.5",
    ),
    Mutant(
        "mirostat_v2/surprise-before-the-cut",
        SurpriseBeforeTheCut,
        case="mirostat_v2/matrix/normal-V129-tau2.0-eta0.5",
    ),
    Mutant(
        "mirostat_v2/eta-ignored",
        EtaIgnored,
        "bug zoo 44",
        case="mirostat_v2/matrix/normal-V2-tau2.0-eta0.5",
    ),
    Mutant(
        "mirostat_v2/reset-keeps-mu", ResetKeepsMu, "bug zoo 54, LC #21594", case="state/streams"
    ),
    Mutant(
        "mirostat_v2/reset-keeps-stream",
        ResetKeepsStream,
        "bug zoo 55, LC #9398",
        case="state/streams",
    ),
    Mutant("mirostat_v2/clone-restarts-mu", CloneRestartsMu, case="state/streams"),
    Mutant(
        "mirostat_v2/clone-shares-stream",
        CloneSharesStream,
        "bug zoo 58, VL #51226",
        case="state/streams",
    ),
]
