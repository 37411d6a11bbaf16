"""Chains of llama.cpp's samplers for engines that run all of them in one call, in a fixed order,
and return only the token, or p as well."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec

LAST = ("dist", "greedy")


@dataclass
class Row:
    """Logits, p where the engine shows it, and the selected token."""

    logits: NDArray[np.float32]
    token: int = -1

    def __post_init__(self) -> None:
        self.p: Any = np.zeros(len(self.logits), np.float32)

    def result(self) -> Result:
        """Return all candidates unchanged."""
        return np.arange(len(self.p), dtype=np.int32), self.logits, self.p, None, self.token


class RowWorker:
    """The candidates of a worker are a Row."""

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        return row.result()


def stages_of(chain: ChainSpec, order: tuple[str, ...], engine: str) -> list[tuple[str, Any]]:
    """Return name and parameters, stage by stage. order: of the samplers before the token.

    Raises Unsupported for another order, a chain without a token, and parameters that engines of
    this kind lack: penalties other than repetition, min_keep.
    """
    stages = [stage for each in chain for stage in each.items()]
    places = [(*order, *LAST).index(name) if name in (*order, *LAST) else -1 for name, _ in stages]
    chosen = bool(stages) and stages[-1][0] in LAST
    if -1 in places or places != sorted(set(places)) or not chosen:
        raise Unsupported(f"{engine} has {', '.join(order)}, in this order, then a token")
    for name, parameters in stages:
        if name == "penalties" and (parameters["penalty_freq"] or parameters["penalty_present"]):
            raise Unsupported("no frequency and no presence penalty")
        if parameters.get("min_keep", 0) > 1:
            raise Unsupported("no min_keep")
    return stages
