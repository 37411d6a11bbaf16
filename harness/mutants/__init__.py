"""Planted faults: samplers and chains wrong in one named way, which the self-test must catch.

A file for each sampler, found by its name; vllm.py and transformers.py for all stages of these
engines; chain.py for faults between the samplers, batch.py between rows, capacities.py
for what is right up to a size, shared.py for state that is of no instance, rare.py for
what is wrong once in a long while, conventions.py for exact equality, NaN and +inf.
adapters.py holds whole adapters that break the protocol; it is not imported here because it is run
as a program.
"""

from importlib import import_module
from importlib.util import find_spec

from sampler_parity.harness.mutants.mutant import Mutant
from sampler_parity.reference import ALL_SAMPLERS

_TOGETHER = [
    *("chain", "batch", "capacities", "shared", "rare", "conventions"),
    *("transformers", "vllm"),
]
_FILES = [name for name in (*ALL_SAMPLERS, *_TOGETHER) if find_spec(f"{__name__}.{name}")]

MUTANTS: dict[str, Mutant] = {
    mutant.name: mutant for name in _FILES for mutant in import_module(f"{__name__}.{name}").MUTANTS
}

__all__ = ["MUTANTS", "Mutant"]
