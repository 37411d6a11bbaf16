"""vllm_penalties: repetition over prompt and output, frequency and presence over the output alone.

For every token, in this order:

    if it is in prompt or output:  logit * (1 / repetition_penalty)  if logit > 0
                                   logit * repetition_penalty        if not
    logit -= frequency_penalty * (how often it is in the output)
    logit -= presence_penalty * (1 if it is in the output, else 0)

Parameters:
    repetition_penalty: float32 > 0, once for a token however often it occurs; default 1 (off).
    frequency_penalty:  float32 in -2..2, per occurrence; default 0 (off).
    presence_penalty:   float32 in -2..2, once; default 0 (off).
    kernel:             "torch", as on a CPU and in the newer GPU runner: a positive logit is
                        multiplied by the reciprocal. "cuda", the compiled kernel: it is divided.
Ties: none to break; candidates keep their order.
Edges: -inf stays -inf, NaN takes the multiplication. After frequency_penalty < 0 a logit of -0.0 is
    0.0: the product is also subtracted for tokens that are not in the output. A token beyond the
    vocabulary indexes beyond a table: refused, except the two paddings: the vocabulary's size, and
    -1 in the output. There is no window.
Source: apply_penalties, vllm/model_executor/layers/utils.py, and apply_repetition_penalties_torch,
    vllm/_custom_ops.py, at 0.32.0; apply_repetition_penalties_kernel, csrc/sampler.cu;
    SamplingParams, vllm/sampling_params.py, for the ranges.
Suite: engines/vllm/suites/origin/vllm.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.openai_range import penalty_in_range
from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import float32

OUTPUT_PADDING = -1


class VllmPenalties(OfPast):
    name = "vllm_penalties"

    def __init__(
        self,
        repetition_penalty: Any = 1.0,
        frequency_penalty: Any = 0.0,
        presence_penalty: Any = 0.0,
        kernel: Any = "torch",
    ) -> None:
        self.repetition_penalty = float32("repetition_penalty", repetition_penalty)
        if self.repetition_penalty <= 0:
            raise ChainError(f"repetition_penalty must be above 0, got {repetition_penalty!r}")
        self.frequency_penalty = penalty_in_range("frequency_penalty", frequency_penalty)
        self.presence_penalty = penalty_in_range("presence_penalty", presence_penalty)
        if kernel not in ("torch", "cuda"):
            raise ChainError(f'kernel must be "torch" or "cuda", got {kernel!r}')
        self.kernel = str(kernel)
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "vLLM")
        kind = cand.logits.dtype.type
        in_prompt = occurrences(self.past.prompt, n) > 0
        count = occurrences([t for t in self.past.output if t != OUTPUT_PADDING], n)
        penalty = np.where(in_prompt | (count > 0), kind(self.repetition_penalty), kind(1))
        logits = self.repeated(cand.logits, penalty)
        logits = logits - kind(self.frequency_penalty) * count.astype(kind)
        cand.logits = logits - kind(self.presence_penalty) * (count > 0).astype(kind)
        cand.sorted = False

    def repeated(self, logits: NDArray[Any], penalty: NDArray[Any]) -> NDArray[Any]:
        if self.kernel == "cuda":
            return np.asarray(np.where(logits > 0, logits / penalty, logits * penalty))
        return np.asarray(logits * np.where(logits > 0, 1 / penalty, penalty))


def occurrences(tokens: list[int], n: int) -> NDArray[np.int64]:
    """Count how often each of n tokens occurs; n itself is padding."""
    beyond = [token for token in tokens if not 0 <= token <= n]
    if beyond:
        raise UndefinedInputError(f"token {beyond[0]} in a vocabulary of {n}: beyond vLLM's table")
    return np.bincount(np.array(tokens, np.int64), minlength=n + 1)[:n]
