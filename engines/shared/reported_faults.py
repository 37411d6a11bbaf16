"""Faults of the log-probabilities that engines return: edits of the text of a function of the
engine each, in logprob_faults.toml."""

import tomllib
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from importlib.resources import files
from typing import Any

from sampler_parity.engines.shared.verifiers import edited
from sampler_parity.maintenance.selftest.engine_faults import Fault


def faults_of_logprobs(
    engine: str, worker: type[Any], load: Callable[[], object] = bool
) -> list[Fault]:
    """Return the faults of an engine. load: imports the engine."""
    file = files("sampler_parity.engines.shared").joinpath("logprob_faults.toml")
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["fault"]
    return [_fault(engine, row, worker, load) for row in rows if engine in row]


def _fault(
    engine: str, row: dict[str, Any], worker: type[Any], load: Callable[[], object]
) -> Fault:
    case = row[engine]["case"]

    def planted(self: Any) -> None:
        load()
        plant(row[engine]["function"], [(old, new) for old, new in row[engine]["edits"]])
        worker.__init__(self)

    make = type("Faulty", (worker,), {"__init__": planted})
    stage = f"logprobs/{case.split('/')[2]}"
    return Fault(f"{engine}/logprobs-{row['name']}", row["text"], make, case, stage)


def plant(function: str, edits: list[tuple[str, str]]) -> None:
    """Put an edited function into its place. function: as MODULE:NAME or MODULE:CLASS.NAME."""
    module, _, path = function.partition(":")
    *holders, name = path.split(".")
    holder = reduce(getattr, holders, import_module(module))
    setattr(holder, name, edited(getattr(holder, name), tuple(edits)))
