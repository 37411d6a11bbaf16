"""Faults of lmdeploy's files, each an edit of the text of one, most of them in a kernel."""

import tomllib
from importlib.resources import files
from typing import Any

from sampler_parity.engines.lmdeploy.worker import Worker
from sampler_parity.engines.shared.triton_files import edit_of
from sampler_parity.harness.faults.engine_faults import Fault


def _fault(row: dict[str, Any]) -> Fault:
    make = type("Faulty", (Worker,), {"__doc__": row["text"], "edits": (edit_of(row),)})
    return Fault(f"lmdeploy/{row['name']}", make, row["case"], row["stage"])


def rows(table: str) -> list[dict[str, Any]]:
    """Return the faults of a table of kernel_faults.toml."""
    file = files("sampler_parity.engines.lmdeploy").joinpath("kernel_faults.toml")
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))[table]
    return found


FAULTS = [_fault(row) for row in rows("fault")]
