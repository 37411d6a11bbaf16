"""Faults of LitGPT, planted in its sampler and in the worker."""

from typing import Any

from sampler_parity.engines.litgpt import worker
from sampler_parity.harness.faults.engine_faults import Fault


class TopKIgnored(worker.Worker):
    """top_k has no effect."""

    def __init__(self) -> None:
        base = worker.litgpt().base
        original = base.sample
        base.sample = lambda logits, top_k=None, **of: original(logits, **of)


class TemperatureSquared(worker.Worker):
    """The temperature is squared."""

    def __init__(self) -> None:
        base = worker.litgpt().base
        original = base.sample
        base.sample = lambda logits, temperature=1.0, **of: original(
            logits, temperature=temperature**2, **of
        )


class TopPOfTheRest(worker.Worker):
    """top_p is the mass that goes."""

    def __init__(self) -> None:
        base = worker.litgpt().base
        original = base.sample_top_p
        base.sample_top_p = lambda logits, top_p: original(logits, 1 - top_p)


class KeepsNone(worker.Worker):
    """top_p removes the token that crosses it, too."""

    def __init__(self) -> None:
        base, torch = worker.litgpt().base, worker.litgpt().torch

        def sample_top_p(logits: Any, top_p: float) -> Any:
            values, order = torch.sort(logits, descending=True)
            goes = values.softmax(dim=-1).cumsum(dim=-1) > top_p
            goes[0] = False
            return logits.masked_fill(goes.scatter(0, order, goes), -float("inf"))

        base.sample_top_p = sample_top_p


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"litgpt/{name}", make, f"litgpt/{case}", "litgpt")


FAULTS = [
    _fault("top_k-ignored", TopKIgnored, "top_k-of-two"),
    _fault("temperature-squared", TemperatureSquared, "temperature-divides"),
    _fault("top_p-of-the-rest", TopPOfTheRest, "top_p-sum-equal"),
    _fault("keeps-none", KeepsNone, "top_p-crossing-token"),
]
