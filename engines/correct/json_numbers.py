"""correct/json_numbers: float64, with the parameters as JSON numbers, not rounded to float32."""

from typing import Any

import numpy as np

from sampler_parity.engines.correct import float64, worker
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference.sampler import Sampler


class Instance(worker.Instance):
    """A chain whose samplers hold the numbers of the request."""

    spec: ChainSpec

    def clone(self) -> "Instance":
        twin = super().clone()
        return unrounded(twin, self.spec)


def unrounded(instance: worker.Instance, spec: ChainSpec) -> Instance:
    """Replace each float32 that the samplers hold of a parameter by the number itself."""
    for sampler, stage in zip(instance.chain.samplers, spec, strict=True):
        (parameters,) = stage.values()
        for name, value in parameters.items():
            if isinstance(getattr(sampler, name, None), np.float32):
                _hold(sampler, name, float(value))
    instance.__class__ = Instance
    assert isinstance(instance, Instance)
    instance.spec = spec
    return instance


def _hold(sampler: Sampler, name: str, value: float) -> None:
    if np.float32(value) == getattr(sampler, name):  # a clamped one stays as it is
        setattr(sampler, name, np.float64(value))


class Worker(float64.Worker):
    name = "correct/json_numbers"

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        instance = unrounded(super().build(chain, n_vocab, vocab), chain)
        for sampler in instance.chain.samplers:
            _begin(sampler)
        return instance


def _begin(sampler: Any) -> None:
    """Derive what the sampler derives from its parameters at its start."""
    if sampler.name == "adaptive_p":
        sampler._forget()
    elif sampler.name in ("mirostat", "mirostat_v2"):
        sampler.mu = np.float64(2) * sampler.tau
