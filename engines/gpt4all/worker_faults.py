"""Faults of gpt4all, planted between it and its worker."""

from typing import Any

from sampler_parity.engines.gpt4all import worker
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol.messages import ChainSpec


class _Changed(worker.Worker):
    """Every chain runs with other parameters."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> worker.Instance:
        changed = self.changed(worker.options_of(chain))
        return super().build([{worker.NAME: changed}], n_vocab, vocab)


class TopKOneMore(_Changed):
    """One token too many is kept."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        k = options.get("top_k", 40)
        return options | {"top_k": k + 1 if k > 0 else k}


class IgnoresMinP(_Changed):
    """min_p has no effect."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"min_p": 0.0}


class ShortWindow(_Changed):
    """The penalty looks back over 8 tokens."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"repeat_last_n": min(8, options.get("repeat_last_n", 64))}


class SeedZeroIsNone(_Changed):
    """A seed of 0 is taken for none."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"seed": options.get("seed") or ANY_SEED}


class NoPenalty(_Changed):
    """The repetition penalty is dropped."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"repeat_penalty": 1.0}


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"gpt4all/{name}", make, f"gpt4all/{case}", "gpt4all")


FAULTS = [
    _fault("top_k-one-more", TopKOneMore, "top_k-two"),
    _fault("ignores-min_p", IgnoresMinP, "min_p-alone"),
    _fault("short-window", ShortWindow, "window-of-64"),
    _fault("seed-zero-is-none", SeedZeroIsNone, "seed-of-0"),
    _fault("no-penalty", NoPenalty, "penalty-by-sign"),
]
