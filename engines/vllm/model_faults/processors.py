"""The stages of vLLM, wrong in one way each."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.vllm.model import (
    VllmAllowedTokenIds,
    VllmBadWords,
    VllmMinTokens,
    VllmPenalties,
)
from sampler_parity.engines.vllm.model.penalties import occurrences
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class Steps(VllmPenalties):
    """vllm_penalties with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = len(cand)
        count = occurrences(self.counted(), n)
        times = occurrences(self.repeating(), n)
        cand.logits = self.lowered(self.divided(cand.logits, times), count.astype(np.float32))
        cand.sorted = False

    def repeating(self) -> list[int]:
        return self.past.text

    def counted(self) -> list[int]:
        return self.past.output

    def divided(self, logits: NDArray[Any], times: NDArray[Any]) -> NDArray[Any]:
        penalty = np.where(times > 0, self.repetition_penalty, np.float32(1))
        return self.repeated(logits, penalty)

    def lowered(self, logits: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        presence = self.presence_penalty * (count > 0).astype(np.float32)
        return np.asarray((logits - self.frequency_penalty * count) - presence)


class PromptCounts(Steps):
    """Frequency and presence count the prompt, too."""

    def counted(self) -> list[int]:
        return self.past.text


class RepeatsOutputOnly(Steps):
    """Repetition is over the output alone."""

    def repeating(self) -> list[int]:
        return self.past.output


class PerOccurrence(Steps):
    """repetition_penalty is applied once for every occurrence."""

    def divided(self, logits: NDArray[Any], times: NDArray[Any]) -> NDArray[Any]:
        return self.repeated(logits, self.repetition_penalty ** times.astype(np.float32))


class OnceForEach(Steps):
    """repetition_penalty is applied for the prompt and again for the output."""

    def divided(self, logits: NDArray[Any], times: NDArray[Any]) -> NDArray[Any]:
        for tokens in (self.past.prompt, self.past.output):
            seen = occurrences(tokens, len(logits)) > 0
            logits = self.repeated(logits, np.where(seen, self.repetition_penalty, np.float32(1)))
        return logits


class DividesNegative(Steps):
    """A negative logit is divided too and rises."""

    def repeated(self, logits: NDArray[Any], penalty: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(logits * (1 / penalty))


class PresencePerOccurrence(Steps):
    """presence_penalty is multiplied by the count."""

    def lowered(self, logits: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        return (logits - self.frequency_penalty * count) - self.presence_penalty * count


class RepetitionLast(Steps):
    """Frequency and presence are subtracted before repetition divides."""

    def apply(self, cand: Candidates) -> None:
        count = occurrences(self.past.output, len(cand)).astype(np.float32)
        times = occurrences(self.past.text, len(cand))
        cand.logits = self.divided(self.lowered(cand.logits, count), times)
        cand.sorted = False


class PaddingPenalized(Steps):
    """Prompts of a batch are made equally long with token 0, which is penalized."""

    def repeating(self) -> list[int]:
        return [*self.past.text, *[0] * max(0, 4 - len(self.past.prompt))]


class InOneSubtraction(Steps):
    """The sum of frequency and presence is subtracted, as in llama.cpp: another last bit."""

    def lowered(self, logits: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        presence = self.presence_penalty * (count > 0).astype(np.float32)
        return np.asarray(logits - (self.frequency_penalty * count + presence))


class OtherKernel(Steps):
    """A positive logit is divided, in place of multiplied by the reciprocal: another last bit."""

    def repeated(self, logits: NDArray[Any], penalty: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.where(logits > 0, logits / penalty, logits * penalty))


class LastSixtyFour(Steps):
    """Only the last 64 tokens count."""

    def repeating(self) -> list[int]:
        return self.past.text[-64:]


class ClonedWithoutPrompt(Steps):
    """A clone knows what was generated, and not the prompt."""

    def clone(self) -> Self:
        twin = super().clone()
        twin.past.prompt.clear()
        return twin


class OneTokenMore(VllmMinTokens):
    """Ends are banned until there is one token more than min_tokens."""

    def __init__(self, n_vocab: Any, min_tokens: Any = 0, stop_token_ids: Any = ()) -> None:
        super().__init__(n_vocab, min_tokens + 1, stop_token_ids)


class OneTokenLess(VllmMinTokens):
    """Ends are free one token too early."""

    def __init__(self, n_vocab: Any, min_tokens: Any = 0, stop_token_ids: Any = ()) -> None:
        super().__init__(n_vocab, max(0, min_tokens - 1), stop_token_ids)


class LengthWithPrompt(VllmMinTokens):
    """The prompt counts as output."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class OneStop(VllmMinTokens):
    """Only the first of several stop ids is banned."""

    def __init__(self, n_vocab: Any, min_tokens: Any = 0, stop_token_ids: Any = ()) -> None:
        super().__init__(n_vocab, min_tokens, stop_token_ids[:1])


class CloneSharesOutput(VllmMinTokens):
    """A clone's tokens count for the original, too."""

    def clone(self) -> Self:
        twin = super().clone()
        twin.past = self.past
        return twin


class AcrossTheBorder(VllmBadWords):
    """Prompt and output are one text, as in transformers."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class TokenLate(VllmBadWords):
    """The beginning is compared with the text one token ago."""

    def apply(self, cand: Candidates) -> None:
        newest = self.past.output[-1:]
        del self.past.output[-1:]
        super().apply(cand)
        self.past.output += newest


class WholeWord(VllmBadWords):
    """After a word's beginning, all its tokens are banned."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        for word in self.words:
            if cand.logits[word[-1]] == -np.inf and before[word[-1]] != -np.inf:
                cand.logits[word] = -np.inf


class SingleLeftOut(VllmBadWords):
    """A word of one token has no beginning and is passed over."""

    def apply(self, cand: Candidates) -> None:
        words, self.words = self.words, [word for word in self.words if len(word) > 1]
        super().apply(cand)
        self.words = words


class BansTheList(VllmAllowedTokenIds):
    """The tokens named are banned, the others free."""

    def apply(self, cand: Candidates) -> None:
        cand.logits[self.allowed_token_ids] = -np.inf
        cand.sorted = False


class UnmasksAllowed(VllmAllowedTokenIds):
    """An allowed token that was banned before is possible again."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        allowed = cand.logits[self.allowed_token_ids]
        cand.logits[self.allowed_token_ids] = np.where(allowed == -np.inf, 0, allowed)


class RemovesOthers(VllmAllowedTokenIds):
    """Tokens that are not allowed are removed from the candidates."""

    def apply(self, cand: Candidates) -> None:
        cand.keep(np.array(sorted(set(self.allowed_token_ids))))
        cand.sorted = False


MUTANTS = [
    Mutant(
        "vllm_penalties/prompt-counts",
        PromptCounts,
        "TensorRT-LLM #5623, vmlx-swift #295",
        case="vllm/penalties-frequency-over-output",
    ),
    Mutant(
        "vllm_penalties/repeats-output-only",
        RepeatsOutputOnly,
        "vLLM #1424, vllm-metal #69",
        case="vllm/penalties-repetition-over-both",
    ),
    Mutant(
        "vllm_penalties/per-occurrence",
        PerOccurrence,
        case="vllm/penalties-once-for-a-token-in-both",
    ),
    Mutant(
        "vllm_penalties/once-for-each", OnceForEach, case="vllm/penalties-once-for-a-token-in-both"
    ),
    Mutant(
        "vllm_penalties/divides-negative",
        DividesNegative,
        case="vllm/penalties-repetition-over-both",
    ),
    Mutant(
        "vllm_penalties/presence-per-occurrence",
        PresencePerOccurrence,
        case="vllm/penalties-frequency-over-output",
    ),
    Mutant(
        "vllm_penalties/repetition-last", RepetitionLast, case="vllm/penalties-repetition-first"
    ),
    Mutant(
        "vllm_penalties/padding-penalized",
        PaddingPenalized,
        "text-generation-inference #1765",
        case="vllm/penalties-short-prompt",
    ),
    Mutant(
        "vllm_penalties/in-one-subtraction",
        InOneSubtraction,
        case="vllm/penalties-two-subtractions",
    ),
    Mutant("vllm_penalties/other-kernel", OtherKernel, case="vllm/penalties-reciprocal"),
    Mutant("vllm_penalties/last-sixty-four", LastSixtyFour, case="vllm/penalties-no-window"),
    Mutant(
        "vllm_penalties/cloned-without-prompt",
        ClonedWithoutPrompt,
        case="vllm/whole/normal-V12-clone",
    ),
    Mutant("vllm_min_tokens/one-token-more", OneTokenMore, case="vllm/min_tokens-bans-until"),
    Mutant("vllm_min_tokens/one-token-less", OneTokenLess, case="vllm/min_tokens-last-banned"),
    Mutant(
        "vllm_min_tokens/length-with-prompt", LengthWithPrompt, case="vllm/min_tokens-bans-until"
    ),
    Mutant("vllm_min_tokens/one-stop", OneStop, case="vllm/min_tokens-last-banned"),
    Mutant("vllm_min_tokens/clone-shares-output", CloneSharesOutput, case="vllm/min_tokens-state"),
    Mutant("vllm_bad_words/across-the-border", AcrossTheBorder, case="vllm/bad_words-across"),
    Mutant("vllm_bad_words/token-late", TokenLate, case="vllm/bad_words-a-token-late"),
    Mutant("vllm_bad_words/whole-word", WholeWord, case="vllm/bad_words-last-token"),
    Mutant("vllm_bad_words/single-left-out", SingleLeftOut, case="vllm/bad_words-of-one-token"),
    Mutant("vllm_allowed_token_ids/bans-the-list", BansTheList, case="vllm/allowed-the-others"),
    Mutant(
        "vllm_allowed_token_ids/unmasks-allowed", UnmasksAllowed, case="vllm/allowed-stays-masked"
    ),
    Mutant("vllm_allowed_token_ids/removes-others", RemovesOthers, case="vllm/allowed-the-others"),
]
