"""akunu/cpu: Akunu's CPU pipeline in vectorised NumPy, written from its documentation without the
reference.

Both use glibc's expf and libstdc++'s partial_sort, which are compared with C and C++ separately.
The random numbers are NumPy's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import UndefinedInputError, floats, sorting

VERSION = "as described in the Akunu book"


@dataclass
class Row:
    """The candidates: ids int32[n], logits and p float32[n], the index selected or -1."""

    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    p: NDArray[np.float32]
    selected: int = -1


def new_row(logits: NDArray[np.float32]) -> Row:
    return Row(np.arange(len(logits), dtype=np.int32), logits.copy(), np.zeros_like(logits))


def only_stage(chain: ChainSpec, name: str) -> dict[str, Any]:
    """Return the parameters of a chain of one stage. Raises Unsupported for another chain."""
    if len(chain) != 1 or name not in chain[0]:
        raise Unsupported(f"{name} is a whole pipeline: the only stage of its chain")
    return dict(chain[0][name])


def check(logits: Any) -> None:
    if logits.size == 0 or bool((logits != logits).any()):
        raise UndefinedInputError("no logits, or one that is NaN")


def penalized(logits: Any, history: list[int], penalty: np.float32) -> Any:
    """Penalize round after round, each the tokens that occur at least that often."""
    if penalty == 1 or not history:
        return logits
    seen = np.array([token for token in history if 0 <= token < logits.size], np.int64)
    times = np.bincount(seen, minlength=logits.size)
    for occurrence in range(int(times.max(initial=0))):
        lowered = np.where(logits > 0, logits / penalty, logits * penalty)
        logits = np.where(times > occurrence, lowered, logits)
    return logits


class Instance:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.reset()

    def reset(self) -> None:
        seed = self.parameters["seed"]
        self.history: list[int] = []
        self.random = np.random.RandomState(None if seed == ANY_SEED else seed)

    def accept(self, token: int) -> None:
        self.history.append(token)

    def clone(self) -> "Instance":
        twin = Instance(self.parameters)
        twin.history = list(self.history)
        twin.random.set_state(self.random.get_state())
        return twin

    def _number(self, name: str) -> np.float32:
        return np.float32(self.parameters[name])

    def _uniforms(self, n: int) -> NDArray[np.float32]:
        words = self.random.randint(0, 2**32, size=n, dtype=np.uint32)
        below_one = np.nextafter(np.float32(1), np.float32(0))
        r: NDArray[np.float32] = np.minimum(words.astype(np.float32) / np.float32(2**32), below_one)
        return r

    def apply(self, stage: int | None, row: Row) -> None:
        with np.errstate(all="ignore"):
            self._sample(row)

    def _sample(self, row: Row) -> None:
        check(row.logits)
        one, temperature = np.float32(1), self._number("temperature")
        f16 = self.parameters["logits"] == "f16"
        x: Any = row.logits
        if f16:
            x = np.float32(np.float16(x))
            x = penalized(x, self.history, self._number("repeat_penalty"))
        row.logits = x
        if temperature <= 0:
            row.selected = int(np.argmax(x))
            return
        if f16 or temperature != one:
            x = x * (one / temperature)
        p = floats.exp(x - x.max())
        p = p * (one / np.cumsum(p)[-1])
        if np.isnan(p).any():
            raise UndefinedInputError("a probability is NaN")
        order = sorting.std_partial_sort(p, self._width(len(p)))
        order = order[: self._kept(p[order])]
        p = p[order]
        p = p * (one / np.cumsum(p)[-1])
        row.ids, row.logits, row.p = row.ids[order], x[order], p
        row.selected = int(_walk(p, self._uniforms(1))[0])

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw n tokens from one row, filtered once: the filters take no random number."""
        state = self.random.get_state()
        self.apply(None, row)
        if np.float32(self.parameters["temperature"]) <= 0:
            return np.full(n, row.ids[row.selected], np.int32)
        self.random.set_state(state)
        r = self._uniforms(n) if uniforms is None else uniforms.astype(np.float32)
        return row.ids[_walk(row.p, r)]

    def _width(self, n: int) -> int:
        k = int(self.parameters["top_k"])
        return k if k > 0 and k < n else min(256, n)

    def _kept(self, p: NDArray[np.float32]) -> int:
        """Count how many of the descending p pass min_p and top_p."""
        n, min_p, top_p = len(p), self._number("min_p"), self._number("top_p")
        if min_p > 0:
            n = max(1, int((p >= p[0] * min_p).sum()))
        if top_p < 1:
            n = min(n, int(np.searchsorted(np.cumsum(p[:n]), top_p, side="left")) + 1)
        return n


def _walk(p: NDArray[np.float32], r: NDArray[np.float32]) -> NDArray[np.intp]:
    """Find for each r the first index whose running sum is not below it, or the last index."""
    reached = np.searchsorted(np.cumsum(p), r, side="left")
    return np.minimum(reached, len(p) - 1)


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="akunu/cpu",
            version=VERSION,
            capabilities=["run", "draws", "time", "uniforms"],
            samplers=["akunu"],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        floats.load_compiler()
        return Instance(only_stage(chain, "akunu"))

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return new_row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return row.ids, row.logits, row.p, None, row.selected
