"""Faults of the shader of akunu/webgpu, faults.toml: an edit of its text each."""

import tomllib
from pathlib import Path

from sampler_parity.engines.akunu import webgpu
from sampler_parity.engines.webgpu.device import Edit
from sampler_parity.harness.faults.engine_faults import Fault


def planted(row: dict[str, str]) -> Fault:
    """Return a fault whose worker has the edited shader."""
    edit = Edit(row["file"], row["replace"], row["with"])
    made = type("Planted", (webgpu.Worker,), {"__doc__": row["fault"], "edit": edit})
    return Fault(f"akunu/webgpu/{row['name']}", made, row["case"], stage="akunu_gumbel")


ROWS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))["fault"]
FAULTS = [planted(row) for row in ROWS]
