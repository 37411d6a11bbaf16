"""toy: one stage, toy_draw, in NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits.copy()
        self.p = np.zeros_like(logits)
        self.token = -1


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        if name != "toy_draw":
            raise Unsupported(f"toy has no {name}")
        self.seed: int = parameters["seed"]
        self.reset()

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)

    def p(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        weights = np.exp(logits.astype(np.float64) - logits.max())
        return np.asarray(weights / weights.sum())

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        p = self.p(row.logits)
        row.p = p.astype(np.float32)
        row.token = int(self.rng.choice(len(p), p=p))

    def draws(self, row: Row, n: int) -> list[int]:
        p = self.p(row.logits)
        return [int(self.rng.choice(len(p), p=p)) for _ in range(n)]

    def draw_as(self, other: "Stage") -> None:
        self.rng.set_state(other.rng.get_state())


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="toy", version="1", capabilities=["run", "draws"], samplers=["toy_draw"]
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        return Staged(chain, Stage, "toy")

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return np.arange(len(row.p)), row.logits, row.p, None, row.token
