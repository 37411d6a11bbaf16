"""A backend that does nothing: the lower bound of every timing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import SAMPLERS, Candidates


class NullInstance:
    def apply(self, stage: int | None, candidates: Candidates) -> None:
        pass

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "NullInstance":
        return self


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="null", version="0.1.0", capabilities=["run", "time"], samplers=sorted(SAMPLERS)
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> NullInstance:
        if not {name for stage in chain for name in stage} <= SAMPLERS.keys():
            raise Unsupported("no such sampler")
        return NullInstance()

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        return Candidates.from_logits(logits)

    def result(self, candidates: Candidates) -> tuple[Any, Any, Any, bool | None, int]:
        return candidates.ids, candidates.logits, candidates.p, candidates.sorted, -1
