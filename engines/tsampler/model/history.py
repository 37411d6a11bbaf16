"""TokenHistoryTracker and the penalties of tsampler.

    logit = logit * repeat  if logit <= 0  else  logit / repeat
    logit = logit - count * freq
    logit = logit - present                        for every token with count > 0 in the window

computed in double and rounded to float32 once, at the end; llama.cpp computes every step in float32
and subtracts both terms together, so the two differ in the last bit for some logits.

Readings, where the documentation leaves them open: computeAdjustment returns the penalized logit
(the accessor of applyTopK has the same form), not a difference. `size()` is the number of tokens in
the window now. `getUniqueTokens()` is in the order of first acceptance among those in the window.
A window of 0 or less keeps nothing. Without a value, repeat is 1 and the others 0 here (the default
1.1 is that of sampleWithStrategy). Called one after the other, the three low-level functions round
three times.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float32]


@dataclass(frozen=True)
class PenaltyParams:
    """repeat: factor > 0, 1 is off. freq: per occurrence, 0 is off. present: once, 0 is off."""

    repeat: float = 1.0
    freq: float = 0.0
    present: float = 0.0

    @property
    def any(self) -> bool:
        """Return whether they would change a logit: hasPenalties."""
        return self.repeat != 1 or self.freq != 0 or self.present != 0


@dataclass
class TokenHistoryTracker:
    """The last penalty_last_n accepted tokens and how often each occurs among them."""

    penalty_last_n: int
    _window: deque[int] = field(default_factory=deque)
    _counts: dict[int, int] = field(default_factory=dict)

    def accept(self, token: int) -> None:
        if self.penalty_last_n <= 0:
            return
        self._window.append(token)
        self._counts[token] = self._counts.get(token, 0) + 1
        if len(self._window) > self.penalty_last_n:
            oldest = self._window.popleft()
            self._counts[oldest] -= 1
            if self._counts[oldest] == 0:
                del self._counts[oldest]

    def get_count(self, token: int) -> int:
        return self._counts.get(token, 0)

    def has_token(self, token: int) -> bool:
        return token in self._counts

    def reset(self) -> None:
        self._window.clear()
        self._counts.clear()

    def size(self) -> int:
        return len(self._window)

    def unique_tokens(self) -> list[int]:
        return list(self._counts)

    def copy(self) -> "TokenHistoryTracker":
        return TokenHistoryTracker(self.penalty_last_n, self._window.copy(), self._counts.copy())

    def compute_adjustment(self, token: int, logit: float, params: PenaltyParams) -> float:
        """Return the penalized logit in double; the logit itself for a token not in the window."""
        count = self.get_count(token)
        if count == 0:
            return logit
        if params.repeat != 1:
            logit = logit * params.repeat if logit <= 0 else logit / params.repeat
        logit -= count * params.freq
        return logit - params.present


def apply_penalties(logits: Row, history: TokenHistoryTracker, params: PenaltyParams) -> None:
    """Apply all three penalties in place. Tokens outside of the logits are ignored."""
    for token in history.unique_tokens():
        if 0 <= token < len(logits):
            value = float(logits[token])
            with np.errstate(over="ignore"):
                logits[token] = np.float32(history.compute_adjustment(token, value, params))
