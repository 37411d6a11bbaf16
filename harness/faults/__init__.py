"""Planted faults: samplers and chains wrong in one named way, which the self-test must catch.

What changes a few lines of a sampler is text: NAME.toml for each sampler, capacities.toml for what
is right up to a size, conventions.toml for exact equality, NaN and +inf. The others are classes:
token_trie.py; chain.py and chain_order.py for faults between the samplers, batch.py between rows,
shared.py for state that is of no instance, rare.py for what is wrong once in a long while.
adapters.py holds whole adapters that break the protocol; it is not imported here because it is run
as a program.
"""

import functools
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.mutant import Mutant

if TYPE_CHECKING:
    MUTANTS: dict[str, Mutant]

_OF_ENGINES = "sampler_parity.harness.mutants"
_TOGETHER = [
    *("chain", "chain_order", "batch", "shared", "rare"),
    *("exllamav3", "ik_llama", "mlx_lm", "rwkv", "sglang", "transformers"),
    *("vllm", "vllm_filters"),
]


@functools.cache
def _mutants() -> dict[str, Mutant]:
    from sampler_parity.harness.faults.catalogue import read_faults
    from sampler_parity.reference import ALL_SAMPLERS

    found = [m for path in sorted(Path(__file__).parent.glob("*.toml")) for m in read_faults(path)]
    for name in (*ALL_SAMPLERS, *_TOGETHER):
        for module in (f"{__name__}.{name}", f"{_OF_ENGINES}.{name}"):
            if find_spec(module):
                found += import_module(module).MUTANTS
    return by_name(found)


def by_name(faults: Iterable[Mutant]) -> dict[str, Mutant]:
    """Raises InputError for a name that two faults have."""
    named: dict[str, Mutant] = {}
    for fault in faults:
        if fault.name in named:
            raise InputError(fault.name, "is the name of two faults", "rename one")
        named[fault.name] = fault
    return named


def __getattr__(name: str) -> Any:
    """MUTANTS is loaded when it is named: faults of engines run where the reference does not."""
    if name == "MUTANTS":
        return _mutants()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["MUTANTS", "Mutant"]
