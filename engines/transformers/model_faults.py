"""The stages of transformers, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.engines.transformers.model import (
    TransformersMinLength,
    TransformersMinNewTokens,
    TransformersNoBadWords,
    TransformersRepetitionPenalty,
    TransformersSequenceBias,
)
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates


class OutputOnly(TransformersRepetitionPenalty):
    """The prompt is left out."""

    def accept_prompt(self, token: int) -> None:
        pass


class DividesNegative(TransformersRepetitionPenalty):
    """A negative logit is divided too and rises."""

    def apply(self, cand: Candidates) -> None:
        below = cand.logits < 0
        cand.logits[below] *= -1
        super().apply(cand)
        cand.logits[below] *= -1


class PerOccurrence(TransformersRepetitionPenalty):
    """The penalty is applied once for every occurrence."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        for token in self.past.text[self.prompt_ignore_length :]:
            if token < len(cand):
                old = cand.logits[token]
                cand.logits[token] = old * self.penalty if old < 0 else old / self.penalty
        cand.sorted = False


class PaddingPenalized(TransformersRepetitionPenalty):
    """prompt_ignore_length is not heeded: the padding of a batch is penalized."""

    def __init__(self, penalty: Any = 1.0, prompt_ignore_length: Any = 0) -> None:
        super().__init__(penalty, 0)


class LengthOfOutput(TransformersMinLength):
    """The prompt does not count for the length."""

    def accept_prompt(self, token: int) -> None:
        pass


class LengthOneMore(TransformersMinLength):
    """End-of-text is banned for one token more."""

    def __init__(self, min_length: Any = 0, eos_token_id: Any = ()) -> None:
        super().__init__(min_length + 1, eos_token_id)


class LengthOfOneEnd(TransformersMinLength):
    """Only the first of several end-of-text tokens is banned."""

    def __init__(self, min_length: Any = 0, eos_token_id: Any = ()) -> None:
        super().__init__(min_length, eos_token_id[:1])


class NewWithPrompt(TransformersMinNewTokens):
    """The prompt counts as new."""

    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class NewOneLess(TransformersMinNewTokens):
    """End-of-text is free one token too early."""

    def __init__(self, min_new_tokens: Any = 0, eos_token_id: Any = ()) -> None:
        super().__init__(max(0, min_new_tokens - 1), eos_token_id)


class NewOfOneEnd(TransformersMinNewTokens):
    """Only the first of several end-of-text tokens is banned."""

    def __init__(self, min_new_tokens: Any = 0, eos_token_id: Any = ()) -> None:
        super().__init__(min_new_tokens, eos_token_id[:1])


class WordInOutput(TransformersNoBadWords):
    """A word that begins in the prompt is not found, as in vLLM."""

    def accept_prompt(self, token: int) -> None:
        pass


class WordTokenLate(TransformersNoBadWords):
    """The beginning is compared with the text one token ago."""

    def apply(self, cand: Candidates) -> None:
        newest = self.bias.past.output[-1:]
        del self.bias.past.output[-1:]
        super().apply(cand)
        self.bias.past.output += newest


class BansTheEnd(TransformersNoBadWords):
    """A word that is end-of-text alone is banned, too."""

    def __init__(self, n_vocab: Any, bad_words_ids: Any, eos_token_id: Any = ()) -> None:
        super().__init__(n_vocab, bad_words_ids)


class BiasInOutput(TransformersSequenceBias):
    """A sequence that begins in the prompt is not found."""

    def accept_prompt(self, token: int) -> None:
        pass


class LongestAlone(TransformersSequenceBias):
    """Only the longest of several sequences that end in a token counts."""

    def apply(self, cand: Candidates) -> None:
        every = self.biases
        text = tuple(self.past.text)
        fits = [(s, b) for s, b in every if text[len(text) - len(s) + 1 :] == s[:-1]]
        self.biases = list(
            {s[-1]: (s, b) for s, b in sorted(fits, key=lambda f: len(f[0]))}.values()
        )
        super().apply(cand)
        self.biases = every


class BiasWithoutPrefix(TransformersSequenceBias):
    """A sequence's last token is biased wherever it stands."""

    def apply(self, cand: Candidates) -> None:
        every = self.biases
        self.biases = [(s[-1:], b) for s, b in every]
        super().apply(cand)
        self.biases = every


_REPETITION = "transformers_repetition_penalty"
_LENGTH, _NEW = "transformers_min_length", "transformers_min_new_tokens"
_WORDS, _BIAS = "transformers_no_bad_words", "transformers_sequence_bias"

MUTANTS = [
    Mutant(f"{_REPETITION}/output-only", OutputOnly, case="transformers/repetition-over-both"),
    Mutant(
        f"{_REPETITION}/divides-negative",
        DividesNegative,
        "HF #2302",
        case="transformers/repetition-over-both",
    ),
    Mutant(f"{_REPETITION}/per-occurrence", PerOccurrence, case="transformers/repetition-over"),
    Mutant(
        f"{_REPETITION}/padding-penalized",
        PaddingPenalized,
        "text-generation-inference #1765",
        case="transformers/repetition-padding-on-the-left",
    ),
    Mutant(f"{_LENGTH}/output-only", LengthOfOutput, case="transformers/min_length-counts"),
    Mutant(f"{_LENGTH}/one-more", LengthOneMore, case="transformers/min_length-counts"),
    Mutant(f"{_LENGTH}/one-end", LengthOfOneEnd, case="transformers/min_length-one-short"),
    Mutant(f"{_NEW}/with-prompt", NewWithPrompt, case="transformers/min_new_tokens-two"),
    Mutant(f"{_NEW}/one-less", NewOneLess, case="transformers/min_new_tokens-one-short"),
    Mutant(f"{_NEW}/one-end", NewOfOneEnd, case="transformers/min_new_tokens-one-short"),
    Mutant(f"{_WORDS}/output-only", WordInOutput, case="transformers/no_bad_words-across"),
    Mutant(f"{_WORDS}/token-late", WordTokenLate, case="transformers/no_bad_words-a-token"),
    Mutant(f"{_WORDS}/bans-the-end", BansTheEnd, case="transformers/no_bad_words-not-the-end"),
    Mutant(f"{_BIAS}/output-only", BiasInOutput, case="transformers/sequence_bias-behind"),
    Mutant(f"{_BIAS}/longest-alone", LongestAlone, case="transformers/sequence_bias-behind"),
    Mutant(f"{_BIAS}/without-prefix", BiasWithoutPrefix, case="transformers/sequence_bias-behind"),
]
