"""Planted faults: samplers, chains and batches that are wrong in one named way, for the self-test.

They are text. NAME.toml has the faults of a sampler, `chain.toml` those between the samplers, and
`batch.toml` those between rows. `shared.toml` has those with state that belongs to no instance, and
`operations.toml` those that a certain order of samples, resets and clones shows. `outcomes.toml`
has those at one number of survivors or beyond a gap, `capacities.toml` those beyond a size, and
`pairs.toml` those with one class of a parameter, or of two. The faults of `rare.toml` show once in
a long while, and those of `conventions.toml` at exact equality, NaN and +inf. Those of
`blind*.toml` were written before any suite was read. `parts.toml` is for everything that is no
sampler. The faults of an engine's stages are in engines/NAME/model_faults.toml.
`adapters.py` has whole adapters that break the protocol; it is run as a program, and therefore not
imported here.
"""

import functools
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.engines.engine_file import NAMESPACE, engine_names, engines_folder
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.patch import Mutant

if TYPE_CHECKING:
    MUTANTS: dict[str, Mutant]


FOLDER = Path(__file__).parent
PARTS = FOLDER / "parts.toml"
FAMILIES = FOLDER / "families.toml"  # of faults that nobody wrote down


@functools.cache
def _mutants() -> dict[str, Mutant]:
    from sampler_parity.harness.faults.catalogue import read_faults

    paths = [path for path in sorted(FOLDER.glob("*.toml")) if path not in (PARTS, FAMILIES)]
    faults = [mutant for path in paths for mutant in read_faults(path)]
    for path in sorted(engines_folder().glob("*/model_faults.toml")):
        faults += read_faults(path)
    modules = [f"{NAMESPACE}.{name}.model_faults" for name in engine_names()]
    for module in filter(find_spec, modules):
        faults += import_module(module).MUTANTS
    return by_name(faults)


def by_name(faults: Iterable[Mutant]) -> dict[str, Mutant]:
    """Return the faults by name. Raises InputError if two have the same name."""
    mutants: dict[str, Mutant] = {}
    for fault in faults:
        if fault.name in mutants:
            raise InputError(fault.name, "is the name of two faults", "rename one")
        mutants[fault.name] = fault
    return mutants


def __getattr__(name: str) -> Any:
    """Load MUTANTS on first use: faults of engines run where the reference does not."""
    if name == "MUTANTS":
        return _mutants()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["MUTANTS", "Mutant"]
