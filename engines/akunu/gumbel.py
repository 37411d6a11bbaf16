"""akunu/gumbel: Akunu's Gumbel-max path, vectorised in NumPy, written from its documentation
without the reference. exp and log are glibc's, as in the reference."""

from copy import copy
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


class Instance:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.reset()

    def reset(self) -> None:
        self.history: list[int] = []
        self.sampled = 0

    def accept(self, token: int) -> None:
        self.history.append(token)

    def clone(self) -> "Instance":
        twin = copy(self)
        twin.history = list(self.history)
        return twin

    def apply(self, stage: int | None, row: Row) -> None:
        with np.errstate(all="ignore"):
            self._sample(row)
        self.sampled += 1

    def _sample(self, row: Row) -> None:
        temperature = np.float32(self.parameters["temperature"])
        check(row.logits)
        half = np.float32(np.float16(row.logits))
        x = penalized(half, self.history, np.float32(self.parameters["repeat_penalty"]))
        if temperature > 0:
            x = np.where(self._stays(x, temperature), x, np.float32(-np.inf))
            x = x + temperature * self._noise(x.size)
            if self.parameters["noise"] == "f16":
                x = x.astype(np.float16).astype(np.float32)
        row.selected = int(np.argmax(x))
        row.logits = x

    def _stays(self, x: Any, temperature: np.float32) -> Any:
        """Return which tokens the filters keep; each filter is a lower bound on the values."""
        k = int(self.parameters["top_k"])
        k = k if 0 < k < x.size else min(256, x.size)
        scaled = x * (np.float32(1) / temperature)
        p = floats.exp(scaled - scaled.max())
        p = p * (np.float32(1) / np.cumsum(p)[-1])
        if bool((p != p).any()):
            raise UndefinedInputError("a probability is NaN")
        stays = x >= np.sort(x)[x.size - k]
        min_p, top_p = np.float32(self.parameters["min_p"]), np.float32(self.parameters["top_p"])
        if min_p > 0:
            stays = stays & (p >= p.max() * min(min_p, np.float32(1)))
        if top_p < 1:
            falling = -np.sort(-p[stays])
            n = int((np.cumsum(falling) < top_p).sum()) + 1
            stays = stays & (p >= falling[min(n, falling.size) - 1])
        return stays

    def seed(self) -> int:
        """Return the state of token 0 at the position."""
        position = int(self.parameters["position"]) + self.sampled
        return (position + int(self.parameters["seed_offset"])) * 2654435761 & 0xFFFFFFFF

    def _noise(self, n: int) -> Any:
        state = np.arange(n, dtype=np.uint32) + np.uint32(self.seed())
        state = state * np.uint32(747796405) + np.uint32(2891336453)
        shift = (state >> np.uint32(28)) + np.uint32(4)
        word = ((state >> shift) ^ state) * np.uint32(277803737)
        word = (word >> np.uint32(22)) ^ word
        low, high = np.float32(1e-7), np.float32(1) - np.float32(1e-7)
        u = np.clip(word.astype(np.float32) / np.float32(2**32), low, high)
        return -floats.log(-floats.log(u))


class Worker:
    name = "akunu/gumbel"
    device = "cpu"

    def hello(self) -> HelloReply:
        return HelloReply(
            name=self.name,
            version=VERSION,
            device=self.device,
            capabilities=["run", "draws", "time"],
            samplers=["akunu_gumbel"],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        floats.load_compiler()
        return Instance(only_stage(chain, "akunu_gumbel"))

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return new_row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return row.ids, row.logits, row.p, None, row.selected
