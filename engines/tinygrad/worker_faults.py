"""Faults of tinygrad, planted in its sampler and in the worker."""

from typing import Any

from sampler_parity.engines.tinygrad import engine, worker
from sampler_parity.harness.faults.engine_faults import Fault


class TemperatureIgnored(worker.Worker):
    """The temperature has no effect."""

    def __init__(self) -> None:
        super().__init__()
        made = engine.tinygrad().Transformer
        original = made.forward
        made.forward = lambda self, tokens, at, temperature: original(
            self, tokens, at, temperature * 0 + 1
        )


class NoiseOfHalf(worker.Worker):
    """The noise has the 10 bits of half precision."""

    def __init__(self) -> None:
        super().__init__()
        tensor = engine.tinygrad().Tensor
        original = tensor.rand_like
        tensor.rand_like = lambda self: ((original(self) * 1024).floor()) / 1024


class LastOfEqual(worker.Worker):
    """The last of equal sums comes."""

    def __init__(self) -> None:
        super().__init__()
        tensor = engine.tinygrad().Tensor
        original = tensor.argmax

        def last(self: Any, *arguments: Any, **options: Any) -> Any:
            return self.shape[-1] - 1 - original(self.flip(-1), *arguments, **options)

        tensor.argmax = last


class CounterStands(worker.Worker):
    """The counter stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.device.count = lambda: 0  # type: ignore[method-assign]


class SeedIgnored(worker.Worker):
    """Every instance has the same key."""

    def __init__(self) -> None:
        super().__init__()
        original = self.device.put
        self.device.put = lambda seed, count: original(0, count)  # type: ignore[method-assign]


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"tinygrad/{name}", make, f"tinygrad/{case}", "tinygrad")


FAULTS = [
    _fault("temperature-ignored", TemperatureIgnored, "temperature-divides"),
    _fault("noise-of-half", NoiseOfHalf, "near-numbers"),
    _fault("last-of-equal", LastOfEqual, "greedy-first-of-equals"),
    _fault("counter-stands", CounterStands, "flat"),
    _fault("seed-ignored", SeedIgnored, "flat"),
]
