"""openai_penalties: the two penalties of OpenAI's API, over what was sampled.

For every token that was sampled c > 0 times before this position:

    logit = logit - c * frequency_penalty - presence_penalty

The prompt does not count: c is how often the token was sampled. (The parameters' own descriptions
are ambiguous: "in the text so far". The formula decides.)

Parameters:
    frequency_penalty  float32 in -2..2, per occurrence; default 0 (off).
    presence_penalty   float32 in -2..2, once; default 0 (off).
Ties: none to break; candidates keep their order.
Edges: -inf stays -inf, NaN stays NaN. Sampled ids that are no candidate have no effect.
Readings of the text, where it is silent: float32, the two subtractions in the order of the formula.
Source: OpenAI's API documentation, "Frequency and presence penalties" (parameter details), as read
    in 2026; closed, so this can be compared with its text only.
Suite: engines/openai/suites/origin/openai.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.openai_range import penalty_in_range
from sampler_parity.engines.shared.past import OfPast, Past
from sampler_parity.reference.candidates import Candidates


class OpenaiPenalties(OfPast):
    name = "openai_penalties"

    def __init__(self, frequency_penalty: Any = 0.0, presence_penalty: Any = 0.0) -> None:
        self.frequency_penalty = penalty_in_range("frequency_penalty", frequency_penalty)
        self.presence_penalty = penalty_in_range("presence_penalty", presence_penalty)
        self.past = Past()

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        if self.frequency_penalty == 0 and self.presence_penalty == 0:
            return
        kind = cand.logits.dtype.type
        tokens, counts = np.unique(np.array(self.past.output, np.int64), return_counts=True)
        at = cand.positions(tokens)
        sampled, c = at[at >= 0], counts[at >= 0].astype(kind)
        less = cand.logits[sampled] - c * kind(self.frequency_penalty)
        cand.logits[sampled] = less - kind(self.presence_penalty)
        cand.sorted = False


STAGES = {"openai_penalties": OpenaiPenalties}
