"""gpt4all's generate, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.gpt4all.model import Gpt4all
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class TemperatureFirst(Gpt4all):
    """The temperature stands in front of the filters."""

    def filters(self, cand: Candidates) -> None:
        cand.logits = cand.logits / self.temp
        super().filters(cand)
        cand.logits = cand.logits * self.temp


class OneLeftDraws(Gpt4all):
    """A candidate alone takes random numbers."""

    def draw(self, cand: Candidates) -> None:
        super().draw(cand)
        if len(cand) == 1:
            self.rng.uniform_double()


class TopPMoreThan(Gpt4all):
    """A sum that equals top_p is not enough."""

    def filters(self, cand: Candidates) -> None:
        top_p = self.top_p
        self.top_p = np.nextafter(top_p, np.float32(1))
        super().filters(cand)
        self.top_p = top_p


class FiltersOff(Gpt4all):
    """A temperature below 0 passes over the filters, as llama-cpp-python's does."""

    def filters(self, cand: Candidates) -> None:
        if self.temp > 0:
            super().filters(cand)


class GreedyTakesLast(Gpt4all):
    """Greedy takes the last of equal largest logits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.temp == 0:
            cand.selected = len(cand) - 1 - int(cand.logits[::-1].argmax())


class SeedNotReset(Gpt4all):
    """reset does not restart the random numbers."""

    def reset(self) -> None:
        rng: Any = self.rng.clone()
        super().reset()
        self.rng = rng


_NAME = Gpt4all.name

MUTANTS = [
    Mutant(f"{_NAME}/temperature-first", TemperatureFirst, case=f"{_NAME}/all-on"),
    Mutant(f"{_NAME}/one-left-draws", OneLeftDraws, case=f"{_NAME}/one-left-draws-nothing"),
    Mutant(f"{_NAME}/top_p-more-than", TopPMoreThan, case=f"{_NAME}/top_p-reached"),
    Mutant(f"{_NAME}/filters-off", FiltersOff, case=f"{_NAME}/temp-negative"),
    Mutant(f"{_NAME}/greedy-takes-last", GreedyTakesLast, case=f"{_NAME}/greedy-first"),
    Mutant(f"{_NAME}/seed-not-reset", SeedNotReset, case=f"{_NAME}/generate/flat-V17-reset"),
]
