"""A correct backend with another sort: the last of equal logits comes first."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.faults.diagnosis import LastOfEquals


class OtherSort(reference.Worker):
    """wrong: samplers in the place of right ones."""

    def __init__(self, wrong: Mapping[str, Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self.samplers = {**ALL_SAMPLERS, **(wrong or {})}

    def candidates(self, logits: NDArray[np.float32]) -> LastOfEquals:
        return LastOfEquals.from_logits(logits)
