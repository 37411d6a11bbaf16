"""Faults of KerasHub, planted in its samplers and in the worker."""

from typing import Any

from sampler_parity.engines.keras_hub import worker
from sampler_parity.harness.faults.engine_faults import Fault


class TemperatureIgnored(worker.Worker):
    """The temperature has no effect."""

    def __init__(self) -> None:
        sampler = worker.keras_hub().samplers.RandomSampler.__mro__[1]
        original = sampler.compute_probabilities

        def at_one(self: Any, logits: Any) -> Any:
            self.temperature = 1.0
            return original(self, logits)

        sampler.compute_probabilities = at_one


class OneMore(worker.Worker):
    """Top-k keeps one token too many."""

    def __init__(self) -> None:
        made = worker.keras_hub().samplers.TopKSampler
        worker.keras_hub().samplers.TopKSampler = lambda k=5, **of: made(k=k + 1, **of)


class CrossingGoes(worker.Worker):
    """The token that crosses p goes, too: the mask is not shifted."""

    def __init__(self) -> None:
        ops = worker.keras_hub().ops
        ops.concatenate = lambda parts, axis: ops.cumsum(parts[0], axis=axis)


class SeedsAlike(worker.Worker):
    """The seed generator does not count."""

    def __init__(self) -> None:
        made = worker.keras_hub().samplers.RandomSampler

        def frozen(**parameters: Any) -> Any:
            sampler = made(**parameters)
            generator = sampler.seed_generator
            generator.next = lambda ordered=True: generator.state.value * 1
            return sampler

        worker.keras_hub().samplers.RandomSampler = frozen


def _fault(name: str, make: Any, case: str, stage: str) -> Fault:
    return Fault(f"keras_hub/{name}", make, f"keras_hub/{case}", f"keras_hub_{stage}")


FAULTS = [
    _fault("temperature-ignored", TemperatureIgnored, "random-temperature", "random"),
    _fault("one-more", OneMore, "top_k-of-two", "top_k"),
    _fault("crossing-goes", CrossingGoes, "top_p-temperature-first", "top_p"),
    _fault("seeds-alike", SeedsAlike, "random-counts-draws", "random"),
]
