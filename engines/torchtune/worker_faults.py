"""Faults of torchtune, planted in its sampler and in the worker."""

from typing import Any

from sampler_parity.engines.torchtune import worker
from sampler_parity.harness.faults.engine_faults import Fault


class Changed(worker.Worker):
    """sample gets other arguments."""

    def __init__(self) -> None:
        generation = worker.torchtune().generation
        original = generation.sample
        generation.sample = lambda logits, **of: original(logits, **self.changed(of))

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class TopKIgnored(Changed):
    """top_k has no effect."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"top_k": None}


class TemperatureSquared(Changed):
    """The temperature is squared."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"temperature": options.get("temperature", 1.0) ** 2}


class OneMore(Changed):
    """Top-k keeps one token too many."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        k = options.get("top_k")
        return options if k is None else options | {"top_k": k + 1}


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"torchtune/{name}", make, f"torchtune/{case}", "torchtune")


FAULTS = [
    _fault("top_k-ignored", TopKIgnored, "top_k-of-two"),
    _fault("temperature-squared", TemperatureSquared, "temperature-divides"),
    _fault("one-more", OneMore, "top_k-of-two"),
]
