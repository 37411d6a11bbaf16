"""Faults of llama-cpp-python's Llama, as its worker would hand them on."""

from typing import Any

from sampler_parity.engines.llama_cpp_python.worker import Instance, Worker
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol.messages import ChainSpec


class Faulty(Worker):
    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        instance = super().build(chain, n_vocab, vocab)
        instance.arguments = instance.arguments | self.instead(instance.arguments)
        instance.reset()
        return instance

    def instead(self, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class IgnoresMinP(Faulty):
    """min_p has no effect."""

    def instead(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"min_p": 0.0}


class SeedZeroIsNone(Faulty):
    """A seed of 0 is taken for none."""

    def instead(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"seed": arguments["seed"] or 0xFFFFFFFF}


class ShortWindow(Faulty):
    """Penalties look back over 8 tokens."""

    def instead(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"last_n_tokens_size": 8}


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"llama_cpp_python/{name}", make, f"completion/{case}", "llama_cpp_python")


FAULTS = [
    _fault("ignores-min_p", IgnoresMinP, "min_p-alone"),
    _fault("seed-zero-is-none", SeedZeroIsNone, "seed-of-0"),
    _fault("short-window", ShortWindow, "window-of-64"),
]
