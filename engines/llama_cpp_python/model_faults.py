"""llama_cpp_python, wrong in one way each."""

from sampler_parity.engines.llama_cpp_python.model import LlamaCppPython
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK


class PenalizesThePrompt(LlamaCppPython):
    """The prompt counts as output."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class TemperatureFirst(LlamaCppPython):
    """The temperature comes before the filters."""

    def apply(self, cand: Candidates) -> None:
        if isinstance(self.stages[-2], Temp):
            self.stages.insert(1, self.stages.pop(-2))
        super().apply(cand)


class NegativeIsGreedy(LlamaCppPython):
    """A temperature below 0 is taken for 0."""

    def apply(self, cand: Candidates) -> None:
        if isinstance(self.stages[1], Dist):
            self.stages[1] = Greedy()
        super().apply(cand)


class FiltersBeforeMirostat(LlamaCppPython):
    """mirostat keeps a top_k of 1 in front of it."""

    def apply(self, cand: Candidates) -> None:
        if isinstance(self.stages[1], Mirostat | MirostatV2):
            self.stages.insert(1, TopK(1))
        super().apply(cand)


MUTANTS = [
    Mutant("llama_cpp_python/penalizes-the-prompt", PenalizesThePrompt, case="completion/prompt"),
    Mutant("llama_cpp_python/temperature-first", TemperatureFirst, case="completion/all-on"),
    Mutant("llama_cpp_python/negative-is-greedy", NegativeIsGreedy, case="completion/temp"),
    Mutant("llama_cpp_python/filters-mirostat", FiltersBeforeMirostat, case="completion/mirostat"),
]
