"""openai_penalties, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.openai.model import OpenaiPenalties
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class Steps(OpenaiPenalties):
    """openai_penalties with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.frequency_penalty == 0 and self.presence_penalty == 0:
            return
        tokens, counts = np.unique(np.array(self.counted(), np.int64), return_counts=True)
        at = cand.positions(tokens)
        sampled = at[at >= 0]
        cand.logits[sampled] = self.lowered(
            cand.logits[sampled], counts[at >= 0].astype(np.float32)
        )
        cand.sorted = False

    def counted(self) -> list[int]:
        return self.past.output

    def lowered(self, logits: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        return (logits - c * self.frequency_penalty) - self.presence_penalty


class PromptCounts(Steps):
    """Tokens of the prompt count as if they had been sampled."""

    def counted(self) -> list[int]:
        return self.past.text


class PresencePerOccurrence(Steps):
    """presence_penalty is multiplied by the count."""

    def lowered(self, logits: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        return (logits - c * self.frequency_penalty) - c * self.presence_penalty


class FrequencyOnce(Steps):
    """frequency_penalty is taken once, however often the token was sampled."""

    def lowered(self, logits: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((logits - self.frequency_penalty) - self.presence_penalty)


class InOneSubtraction(Steps):
    """The sum of both is subtracted, as in llama.cpp: another last bit."""

    def lowered(self, logits: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(logits - (c * self.frequency_penalty + self.presence_penalty))


class LastSixtyFour(Steps):
    """Only the last 64 tokens sampled count."""

    def counted(self) -> list[int]:
        return self.past.output[-64:]


class ResetKeepsOutput(Steps):
    """A reset leaves what was sampled before."""

    def reset(self) -> None:
        self.past.prompt.clear()


MUTANTS = [
    Mutant("openai_penalties/prompt-counts", PromptCounts, case="openai/prompt-does-not-count"),
    Mutant(
        "openai_penalties/presence-per-occurrence",
        PresencePerOccurrence,
        case="openai/frequency-times-count",
    ),
    Mutant("openai_penalties/frequency-once", FrequencyOnce, case="openai/frequency-times-count"),
    Mutant("openai_penalties/in-one-subtraction", InOneSubtraction, case="openai/parameters"),
    Mutant("openai_penalties/last-sixty-four", LastSixtyFour, case="openai/no-window"),
    Mutant("openai_penalties/reset-keeps-output", ResetKeepsOutput, case="openai/parameters"),
]
