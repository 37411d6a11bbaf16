"""power_law: the power-law sampler in vectorised NumPy, written from its documentation without the
reference.

expf is glibc's, as in the reference; powf is double rounded to float, which differs from glibc's in
the last bit of one value in a thousand. The random numbers are NumPy's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.harness.backends import reference
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import SAMPLERS, Candidates, UndefinedInputError, floats

_EPSILON = np.finfo(np.float32).eps


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    p = floats.exp(logits - logits.max())
    return p / np.cumsum(p)[-1]  # type: ignore[no-any-return]


class PowerLaw:
    name = "power_law"

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.reset()

    def reset(self) -> None:
        seed = self.parameters["seed"]
        self.random = np.random.RandomState(None if seed == ANY_SEED else seed)
        self.past = np.empty(0, np.float32)

    def accept(self, token: int) -> None:
        pass

    def clone(self) -> "PowerLaw":
        twin = PowerLaw(self.parameters)
        twin.past = self.past
        twin.random.set_state(self.random.get_state())
        return twin

    def apply(self, row: Candidates) -> None:
        if row.logits.size == 0:
            raise UndefinedInputError("softmax of no candidates")
        with np.errstate(all="ignore"):
            before = softmax(row.logits)
            row.logits = self._moved(before)
            row.p = softmax(row.logits)
        row.selected = self._draw(row.p)
        self.past = np.append(self.past, before[row.selected])[-self.parameters["queue_size"] :]

    def _target(self) -> np.float32:
        base, size = np.float32(self.parameters["target"]), int(self.parameters["queue_size"])
        if self.past.size == 0:
            return base
        without_oldest = self.past[1:] if self.past.size == size else self.past
        total = np.cumsum(without_oldest)[-1] if without_oldest.size else np.float32(0)
        low, high = (
            np.float32(self.parameters["min_target"]),
            np.float32(self.parameters["max_target"]),
        )
        return np.clip(base * np.float32(size) - total, low, high)

    def _moved(self, p: NDArray[np.float32]) -> NDArray[np.float32]:
        away = np.abs(p - self._target())
        peak, width = (
            np.float32(self.parameters["peak_logit_value"]),
            self.parameters["distribution_width"],
        )
        if np.float32(width) <= _EPSILON:
            nearest = np.arange(p.size) == np.argmin(away)
            return np.where(nearest, peak, np.float32(-100))
        ratio = (away / np.float32(width)).astype(np.float64)
        power = np.power(ratio, np.float64(np.float32(self.parameters["tail_heaviness"])))
        return peak / (np.float32(1) + power.astype(np.float32))  # type: ignore[no-any-return]

    def _draw(self, p: NDArray[np.float32]) -> int:
        """Draw as std::discrete_distribution<int>: two words, or none for a single candidate."""
        if p.size < 2:
            return 0
        share = p / np.cumsum(p, dtype=np.float64)[-1]
        steps = np.cumsum(share)
        steps[-1] = 1.0
        low, high = self.random.randint(0, 2**32, size=2, dtype=np.uint32).astype(np.float64)
        u = min((low + high * 2.0**32) / 2.0**64, np.nextafter(1.0, 0.0))
        return int(np.searchsorted(steps, u, side="left"))


class Worker(reference.Worker):
    """Stages of llama.cpp before power_law are the reference's."""

    def hello(self) -> HelloReply:
        return HelloReply(
            name="power_law",
            version="v1.0 as documented",
            capabilities=["run", "draws", "time"],
            samplers=[*SAMPLERS, "power_law"],
            arithmetic=Arithmetic(summation="sequential", exp_ulps=1.0),
        )

    def build(
        self, chain: ChainSpec, n_vocab: int, vocab: str | None
    ) -> reference.ReferenceInstance:
        built = super().build(chain, n_vocab, vocab).chain
        for at, stage in enumerate(chain):
            if "power_law" in stage:
                built.samplers[at] = PowerLaw(stage["power_law"])
        return reference.ReferenceInstance(built)
