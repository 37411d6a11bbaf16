"""Planted faults: samplers and chains wrong in one named way, which the self-test must catch.

A file for each sampler, found by its name; exllamav3.py, ik_llama.py, mlx_lm.py, rwkv.py,
sglang.py, vllm.py and transformers.py for all stages of these engines; chain.py and chain_order.py
for faults between the samplers, batch.py between rows, capacities.py for what is right up to a
size, shared.py for state that is of no instance, rare.py for what is wrong once in a long while,
conventions.py for exact equality, NaN and +inf. adapters.py holds whole adapters that break the
protocol; it is not imported here because it is run as a program.
"""

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.faults.mutant import Mutant

if TYPE_CHECKING:
    MUTANTS: dict[str, Mutant]

_OF_ENGINES = "sampler_parity.harness.mutants"
_TOGETHER = [
    *("chain", "chain_order", "batch", "capacities", "shared", "rare", "conventions"),
    *("exllamav3", "ik_llama", "mlx_lm", "rwkv", "sglang", "transformers"),
    *("vllm", "vllm_filters"),
]


@functools.cache
def _mutants() -> dict[str, Mutant]:
    from sampler_parity.reference import ALL_SAMPLERS

    folders = (__name__, _OF_ENGINES)
    names = [f"{folder}.{name}" for name in (*ALL_SAMPLERS, *_TOGETHER) for folder in folders]
    modules = [import_module(name) for name in names if find_spec(name)]
    return {mutant.name: mutant for module in modules for mutant in module.MUTANTS}


def __getattr__(name: str) -> Any:
    """MUTANTS is loaded when it is named: faults of engines run where the reference does not."""
    if name == "MUTANTS":
        return _mutants()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["MUTANTS", "Mutant"]
