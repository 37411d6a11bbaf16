"""Faults of an engine whose files run in Triton's interpreter: an edit of the text of one each, in
kernel_faults.toml of its folder."""

import tomllib
from importlib.resources import files
from typing import Any

from sampler_parity.engines.shared.triton_files import edit_of
from sampler_parity.maintenance.selftest.engine_faults import Fault


def rows(engine: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table. engine: a folder of engines/. table: `fault`, for the self-test,
    or `probe`, for the engine's probe.py."""
    file = files(f"sampler_parity.engines.{engine}").joinpath("kernel_faults.toml")
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))[table]
    return found


def fault_of(row: dict[str, Any], worker: type[Any]) -> Fault:
    """Return a fault whose worker runs the edited file."""
    make = type("Faulty", (worker,), {"edits": (*worker.edits, edit_of(row))})
    return Fault(f"{worker.name}/{row['name']}", row["text"], make, row["case"], row["stage"])
