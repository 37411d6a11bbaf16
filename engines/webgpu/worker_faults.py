"""Faults of the shaders, faults.toml: an edit of a shader's text each."""

import tomllib
from pathlib import Path
from typing import Any

from sampler_parity.engines.webgpu import browser, worker
from sampler_parity.engines.webgpu.device import Edit
from sampler_parity.maintenance.selftest.engine_faults import Fault

IN_BROWSER = ("tail-ignored", "one-lane-decides", "first-row-for-all")


def planted(engine: str, make: type[Any], row: dict[str, str]) -> Fault:
    """Return a fault whose worker has the edited shader."""
    edit = Edit(row["file"], row["replace"], row["with"])
    made = type("Planted", (make,), {"edit": edit})
    return Fault(f"{engine}/{row['name']}", row["fault"], made, row["case"], row["stage"])


ROWS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))["fault"]
FAULTS = [planted("webgpu", worker.Worker, row) for row in ROWS]
FAULTS += [
    planted("webgpu/browser", browser.Worker, row) for row in ROWS if row["name"] in IN_BROWSER
]
