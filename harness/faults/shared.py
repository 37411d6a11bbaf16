"""Samplers whose state belongs to no instance, wrong in one way each: right while one is alive."""

from itertools import count
from typing import Any, ClassVar

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.history import History
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.dry import Dry
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.xtc import Xtc


class PoolBySeed(Dist):
    """Generators are found in a pool by their seed: instances of one seed take turns with one."""

    pool: ClassVar[dict[int, Mt19937]] = {}

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.rng = self.pool.setdefault(self.seed, self.rng)
        self.rng.seed(self.seed)


class CoinForAll(Xtc):
    """One generator for all instances, seeded anew by the one built last."""

    shared: ClassVar[list[Mt19937]] = []

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(p, t, seed, min_keep)
        self.shared[:] = [self.rng]

    def apply(self, cand: Candidates) -> None:
        self.rng = self.shared[0]
        super().apply(cand)


class CoinOfTheStep(Xtc):
    """The coin is thrown once a step and reused by whoever asks with as many steps behind it."""

    thrown: ClassVar[dict[int, Mt19937]] = {}
    steps = 0

    def apply(self, cand: Candidates) -> None:
        self.steps += 1
        after = self.rng.clone()
        self.rng = self.thrown.setdefault(self.steps, after).clone()
        super().apply(cand)
        self.rng = after
        after.words(1)

    def reset(self) -> None:
        super().reset()
        self.steps = 0


class EightGenerators(Xtc):
    """There is room for eight generators: the ninth instance alive draws from the first's."""

    pool: ClassVar[dict[int, Mt19937]] = {}
    built = count()
    place = -1  # a clone has a generator of its own

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(p, t, seed, min_keep)
        self.place = next(self.built) % 8
        self.pool[self.place] = self.rng

    def apply(self, cand: Candidates) -> None:
        self.rng = self.pool.get(self.place, self.rng)
        super().apply(cand)


class ClonedOnce(Dist):
    """A clone is made once: the second is the first's again, as it was then."""

    first: Dist | None = None

    def clone(self) -> Dist:
        self.first = self.first or super().clone()
        return Dist.clone(self.first)


class StaticWindow(Penalties):
    """The window is a static buffer, emptied by whoever is built or reset."""

    window: ClassVar[History] = History(0)

    def accept(self, token: int) -> None:
        StaticWindow.window.size = self.penalty_last_n
        StaticWindow.window.append(token)

    def apply(self, cand: Candidates) -> None:
        StaticWindow.window.size = self.penalty_last_n
        self.history = StaticWindow.window
        super().apply(cand)

    def reset(self) -> None:
        StaticWindow.window.clear()


class StaticRepeats(Dry):
    """What is repeated is remembered by the length of the history, for all instances."""

    seen: ClassVar[dict[int, Any]] = {}

    def apply(self, cand: Candidates) -> None:
        own = self.history
        self.history = self.seen.setdefault(len(own), own.copy())
        super().apply(cand)
        self.history = own


class MirostatSharesMu(Mirostat):
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


class MirostatV2SharesMu(MirostatV2):
    """All instances share one mu."""

    shared: ClassVar[list[Any]] = [None]

    def __init__(self, seed: Any, tau: Any = 5.0, eta: Any = 0.1) -> None:
        super().__init__(seed, tau, eta)
        self.shared[0] = self.mu

    def apply(self, cand: Candidates) -> None:
        self.mu = self.shared[0]
        super().apply(cand)
        self.shared[0] = self.mu


class MuForAll(MirostatV2):
    """mu is a static variable."""

    shared: ClassVar[list[Any]] = []

    def apply(self, cand: Candidates) -> None:
        self.mu = self.shared[0] if self.shared else self.mu
        super().apply(cand)
        self.shared[:] = [self.mu]

    def reset(self) -> None:
        super().reset()
        self.shared[:] = [self.mu]


class AverageForAll(AdaptiveP):
    """The moving average is a static variable."""

    sums: ClassVar[list[Any]] = []

    def accept(self, token: int) -> None:
        if self.sums:
            self.weighted_sum, self.total_weight = self.sums
        super().accept(token)
        self.sums[:] = [self.weighted_sum, self.total_weight]


class LastTemperature(Temp):
    """The parameter is a static variable: the instance built last decides for all."""

    last: ClassVar[list[Any]] = [None]

    def __init__(self, temp: Any) -> None:
        super().__init__(temp)
        self.last[0] = self.temp

    def apply(self, cand: Candidates) -> None:
        self.temp = self.last[0]
        super().apply(cand)


class LastP(TopP):
    """p is a static variable: the instance built last decides for all."""

    last: ClassVar[list[Any]] = [None]

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        super().__init__(p, min_keep)
        self.last[0] = self.p

    def apply(self, cand: Candidates) -> None:
        self.p = self.last[0]
        super().apply(cand)


MUTANTS = [
    Mutant("dist/pool-by-seed", PoolBySeed, case="state/alive"),
    Mutant("xtc/coin-for-all", CoinForAll, case="state/alive"),
    Mutant("xtc/coin-of-the-step", CoinOfTheStep, case="state/alive"),
    Mutant("xtc/eight-generators", EightGenerators, case="state/many-alive"),
    Mutant("dist/cloned-once", ClonedOnce, case="state/alive"),
    Mutant("penalties/static-window", StaticWindow, case="state/alive"),
    Mutant("dry/static-repeats", StaticRepeats, case="state/alive"),
    Mutant(
        "mirostat/shares-mu",
        MirostatSharesMu,
        "bug zoo 49, LC #3543",
        case="chains/pairs/mirostat",
    ),
    Mutant(
        "mirostat_v2/shares-mu",
        MirostatV2SharesMu,
        "bug zoo 49, LC #3543",
        case="chains/pairs/mirostat_v2",
    ),
    Mutant("mirostat_v2/mu-for-all", MuForAll, case="state/alive"),
    Mutant("adaptive_p/average-for-all", AverageForAll, case="state/alive"),
    Mutant("temp/last-parameter", LastTemperature, case="state/alive"),
    Mutant("top_p/last-parameter", LastP, case="state/alive"),
]
