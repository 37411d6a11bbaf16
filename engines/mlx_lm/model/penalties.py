"""mlx_penalties: repetition, presence and frequency, each over a window of its own.

In this order, for the tokens among the last `*_context_size` of prompt and output:

    repetition:  logit = logit * penalty  if logit < 0  else  logit / penalty    (once)
    presence:    logit -= penalty                                                (once)
    frequency:   logit -= penalty                             (once for each occurrence)

Parameters:
    repetition_penalty       float >= 0, factor; 0 is off.
    presence_penalty         float; 0 is off.
    frequency_penalty        float; 0 is off. Subtracted again and again, not multiplied: another
                             last bit than a product.
    repetition_context_size, presence_context_size, frequency_context_size
                             integer >= 0, tokens of the window; default 20. 0 is not "none" but
                             all of the text: tokens[-0:].
Ties: none to break; candidates keep their order.
Edges: -inf stays -inf. A token beyond the vocabulary indexes beyond the row: refused here, where
    MLX reads and writes what lies there.
Source: make_logits_processors and what it calls, mlx_lm/sample_utils.py at 0.32.2.
Suite: engines/mlx_lm/suites/mlx_lm/penalties.toml
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.copied import Copied
from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.parameters import real, size


class MlxPenalties(Copied):
    name = "mlx_penalties"

    def __init__(
        self,
        repetition_penalty: Any = 0.0,
        repetition_context_size: Any = 20,
        presence_penalty: Any = 0.0,
        presence_context_size: Any = 20,
        frequency_penalty: Any = 0.0,
        frequency_context_size: Any = 20,
    ) -> None:
        self.repetition_penalty = real("repetition_penalty", repetition_penalty)
        if self.repetition_penalty < 0:
            raise ChainError(f"repetition_penalty must not be negative, got {repetition_penalty!r}")
        self.presence_penalty = real("presence_penalty", presence_penalty)
        self.frequency_penalty = real("frequency_penalty", frequency_penalty)
        self.repetition_window = size("repetition_context_size", repetition_context_size)
        self.presence_window = size("presence_context_size", presence_context_size)
        self.frequency_window = size("frequency_context_size", frequency_context_size)
        self.tokens: list[int] = []

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        n = size_of_vocabulary(cand, "MLX LM")
        self.refuse_beyond(n)
        kind = cand.logits.dtype.type
        logits = cand.logits
        if self.repetition_penalty != 0:
            seen = np.unique(self.window(self.repetition_window))
            penalty, old = kind(self.repetition_penalty), logits[seen]
            logits[seen] = np.where(old < 0, old * penalty, old / penalty)
        logits[np.unique(self.window(self.presence_window))] -= kind(self.presence_penalty)
        # One subtraction for each occurrence, in the order of the text.
        np.subtract.at(logits, self.window(self.frequency_window), kind(self.frequency_penalty))
        cand.sorted = False

    def window(self, length: int) -> NDArray[np.int64]:
        """Return the last tokens; all of them for a length of 0."""
        return np.array(self.tokens[-length:], np.int64)

    def refuse_beyond(self, n: int) -> None:
        beyond = [token for token in self.tokens if not 0 <= token < n]
        if beyond:
            problem = f"token {beyond[0]} in a vocabulary of {n}: MLX reads beyond the row"
            raise UndefinedInputError(problem)

    def accept(self, token: int) -> None:
        self.tokens.append(token)

    def reset(self) -> None:
        self.tokens = []
