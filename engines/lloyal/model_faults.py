"""lloyal.node's branches, wrong in one way each."""

from sampler_parity.engines.lloyal.model import Lloyal
from sampler_parity.engines.shared import orders
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp


class TemperatureFirst(orders.TemperatureFirst, Lloyal):
    pass


class TopPBeforeTopK(orders.TopPBeforeTopK, Lloyal):
    pass


class GreedyBelowAThousandth(Lloyal):
    """Greedy below 0.001, as tsampler's documentation has it."""

    def apply(self, cand: Candidates) -> None:
        cold = [s for s in self.samplers if isinstance(s, Temp) and 0 < s.temp < 1e-3]
        if cold:
            Greedy().apply(cand)
        else:
            super().apply(cand)


class DrawsForOne(Lloyal):
    """A single candidate uses up a random number, as in llama.cpp from b10361 on."""

    def apply(self, cand: Candidates) -> None:
        last = self.samplers[-1]
        if getattr(last, "old", None):
            today = Dist(last.seed)  # type: ignore[attr-defined]
            self.samplers[-1] = today
        super().apply(cand)


class ForkCounts(Lloyal):
    """A fork has the counts of the penalties, too."""

    def apply(self, cand: Candidates) -> None:
        first = self.samplers[0] if self.samplers else None
        today = getattr(first, "today", None)
        if isinstance(today, Penalties):
            window = list(first.window)  # type: ignore[union-attr]
            self.samplers[0] = today
            for token in window:
                today.accept(token)
        super().apply(cand)


MUTANTS = [
    Mutant("lloyal/temperature-first", TemperatureFirst, case="lloyal/temperature-last"),
    Mutant("lloyal/top_p-before-top_k", TopPBeforeTopK, case="lloyal/top_k-before-top_p"),
    Mutant("lloyal/greedy-at-0.0009", GreedyBelowAThousandth, case="lloyal/no-greedy-at-a"),
    Mutant("lloyal/draws-for-one", DrawsForOne, case="lloyal/state"),
    Mutant("lloyal/fork-counts", ForkCounts, case="lloyal/state"),
]
