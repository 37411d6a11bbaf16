"""Planted faults: samplers and chains wrong in one named way, which the self-test must catch.

A file for each sampler, found by its name; engines/NAME/model_faults.py for the stages of an
engine; chain.py and chain_order.py for faults between the samplers, batch.py between rows,
capacities.py for what is right up to a size, shared.py for state that is of no instance, rare.py
for what is wrong once in a long while, conventions.py for exact equality, NaN and +inf.
adapters.py holds whole adapters that break the protocol; it is not imported here because it is run
as a program.
"""

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.engines.engine_file import NAMESPACE, engine_names
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.registry import REFERENCE_ROWS

if TYPE_CHECKING:
    MUTANTS: dict[str, Mutant]

_TOGETHER = [
    *("chain", "chain_order", "batch", "capacities", "shared", "rare", "conventions"),
]


@functools.cache
def _mutants() -> dict[str, Mutant]:
    names = [f"{__name__}.{name}" for name in (*REFERENCE_ROWS, *_TOGETHER)]
    names += [f"{NAMESPACE}.{name}.model_faults" for name in engine_names()]
    modules = [import_module(name) for name in names if find_spec(name)]
    return {mutant.name: mutant for module in modules for mutant in module.MUTANTS}


def __getattr__(name: str) -> Any:
    """MUTANTS is loaded when it is named: faults of engines run where the reference does not."""
    if name == "MUTANTS":
        return _mutants()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["MUTANTS", "Mutant"]
