"""The events of one sequence in order: a token is sampled, or its chain is reset or replaced by a
clone of itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.client import Got


@dataclass(frozen=True)
class SampledToken:
    """A token, and the logits that it was sampled from. handed_back: the output of the stages in
    the graph, if some ran there. forced: given, not sampled."""

    step: int
    row: NDArray[np.float32]
    token: int
    handed_back: Got | None = None
    forced: bool = False

    @property
    def in_graph(self) -> Got:
        assert self.handed_back is not None
        return self.handed_back


Event = SampledToken | Literal["reset", "cloned"]


def count_sampled(events: Sequence[Event], last: int | None = None) -> int:
    """Count the tokens that were sampled, not forced; last: up to this step."""
    tokens = [event for event in events if isinstance(event, SampledToken) and not event.forced]
    return sum(last is None or token.step <= last for token in tokens)
