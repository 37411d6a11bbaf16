"""Faults of rwkv, planted in its pipeline and in the worker."""

from typing import Any

from sampler_parity.engines.rwkv import worker as rwkv
from sampler_parity.harness.faults.engine_faults import Fault


class TopKIgnored(rwkv.Worker):
    """top_k has no effect."""

    def __init__(self) -> None:
        pipeline = rwkv.libraries()[1].PIPELINE
        original = pipeline.sample_logits
        pipeline.sample_logits = lambda self, logits, **options: original(
            self, logits, **{key: value for key, value in options.items() if key != "top_k"}
        )


class TemperatureSquared(rwkv.Worker):
    """The temperature is squared."""

    def __init__(self) -> None:
        pipeline = rwkv.libraries()[1].PIPELINE
        original = pipeline.sample_logits

        def squared(self: Any, logits: Any, temperature: float = 1.0, **options: Any) -> Any:
            return original(self, logits, temperature=temperature**2, **options)

        pipeline.sample_logits = squared


class NoDecay(rwkv.Worker):
    """An occurrence does not decay."""

    def __init__(self) -> None:
        utils = rwkv.libraries()[1]
        original = utils.PIPELINE_ARGS
        utils.PIPELINE_ARGS = lambda **of: original(**of | {"alpha_decay": 1.0})


class SeedIgnored(rwkv.Worker):
    """Every instance has the same random numbers."""

    def __init__(self) -> None:
        rwkv.Stage.seed = property(lambda stage: 0, lambda stage, value: None)


def _fault(name: str, make: Any, case: str, stage: str = "rwkv_sample_logits") -> Fault:
    return Fault(f"rwkv/{name}", make, case, stage)


FAULTS = [
    _fault("top_k-ignored", TopKIgnored, "sample_logits/top_k-behind-top_p"),
    _fault("temperature-squared", TemperatureSquared, "sample_logits/temperature-last"),
    _fault("no-decay", NoDecay, "penalties/decay", "rwkv_penalties"),
    _fault("seed-ignored", SeedIgnored, "sample_logits/world-vocabulary"),
]
