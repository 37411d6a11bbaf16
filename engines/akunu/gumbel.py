"""akunu/gumbel: Akunu's Gumbel-max path, vectorised over any module of NumPy's interface, written
from its documentation without the reference.

On NumPy exp and log are glibc's, as in the reference. On a GPU they are the device's, as are the
order of its sums and the choice to fuse products into them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.cpu import (
    VERSION,
    Row,
    check,
    new_row,
    only_stage,
    penalized,
)
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import UndefinedInputError, floats


@dataclass(frozen=True)
class Arrays:
    """A module of NumPy's interface, its exp and log, and the copy of an array to the host."""

    xp: Any
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    to_host: Callable[[Any], NDArray[Any]]


NUMPY = Arrays(np, floats.exp, floats.log, np.asarray)


class Instance:
    def __init__(self, parameters: dict[str, Any], arrays: Arrays) -> None:
        self.parameters, self.arrays = parameters, arrays
        self.reset()

    def reset(self) -> None:
        self.history: list[int] = []
        self.sampled = 0

    def accept(self, token: int) -> None:
        self.history.append(token)

    def clone(self) -> "Instance":
        twin = Instance(self.parameters, self.arrays)
        twin.history, twin.sampled = list(self.history), self.sampled
        return twin

    def apply(self, stage: int | None, row: Row) -> None:
        with np.errstate(all="ignore"):
            self._sample(row)
        self.sampled += 1

    def _sample(self, row: Row) -> None:
        xp, temperature = self.arrays.xp, np.float32(self.parameters["temperature"])
        check(row.logits)
        half = np.float32(np.float16(row.logits))
        x = xp.asarray(penalized(half, self.history, np.float32(self.parameters["repeat_penalty"])))
        if temperature > 0:
            x = xp.where(self._stays(x, temperature), x, xp.float32(-np.inf))
            x = x + temperature * self._noise(x.size)
            if self.parameters["noise"] == "f16":
                x = x.astype(xp.float16).astype(xp.float32)
        row.selected = int(xp.argmax(x))
        row.logits = self.arrays.to_host(x)

    def _stays(self, x: Any, temperature: np.float32) -> Any:
        """Return which tokens the filters keep; each filter is a lower bound on the values."""
        xp, k = self.arrays.xp, int(self.parameters["top_k"])
        k = k if 0 < k < x.size else min(256, x.size)
        scaled = x * (np.float32(1) / temperature)
        p = self.arrays.exp(scaled - scaled.max())
        p = p * (xp.float32(1) / xp.cumsum(p)[-1])
        if bool((p != p).any()):
            raise UndefinedInputError("a probability is NaN")
        stays = x >= xp.sort(x)[x.size - k]
        min_p, top_p = np.float32(self.parameters["min_p"]), np.float32(self.parameters["top_p"])
        if min_p > 0:
            stays = stays & (p >= p.max() * min(min_p, np.float32(1)))
        if top_p < 1:
            falling = -xp.sort(-p[stays])
            n = int((xp.cumsum(falling) < top_p).sum()) + 1
            stays = stays & (p >= falling[min(n, falling.size) - 1])
        return stays

    def _noise(self, n: int) -> Any:
        xp, log = self.arrays.xp, self.arrays.log
        position = int(self.parameters["position"]) + self.sampled
        seed = (position + int(self.parameters["seed_offset"])) * 2654435761 & 0xFFFFFFFF
        state = xp.arange(n, dtype=xp.uint32) + xp.uint32(seed)
        state = state * xp.uint32(747796405) + xp.uint32(2891336453)
        shift = (state >> xp.uint32(28)) + xp.uint32(4)
        word = ((state >> shift) ^ state) * xp.uint32(277803737)
        word = (word >> xp.uint32(22)) ^ word
        low, high = np.float32(1e-7), np.float32(1) - np.float32(1e-7)
        u = xp.clip(word.astype(xp.float32) / np.float32(2**32), low, high)
        return -log(-log(u))


class Worker:
    name = "akunu/gumbel"
    device = "cpu"

    def arrays(self) -> Arrays:
        return NUMPY

    def hello(self) -> HelloReply:
        self.arrays()
        return HelloReply(
            name=self.name,
            version=VERSION,
            device=self.device,
            capabilities=["run", "draws", "time"],
            samplers=["akunu_gumbel"],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        floats.load_compiler()
        return Instance(only_stage(chain, "akunu_gumbel"), self.arrays())

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return new_row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return row.ids, row.logits, row.p, None, row.selected
