"""Faults of the kernels of vLLM's second runner, each an edit of the text of one of its files."""

import tomllib
from importlib.resources import files
from typing import Any

from sampler_parity.engines.vllm_gpu.edits import ON_GPU, Edit
from sampler_parity.engines.vllm_gpu.worker import Worker
from sampler_parity.harness.faults.engine_faults import Fault


def edit_of(row: dict[str, Any]) -> Edit:
    return Edit(row["module"], row["old"], row["new"], row.get("times", 1))


def _fault(row: dict[str, Any]) -> Fault:
    faulty = {"__doc__": row["text"], "edits": (*ON_GPU, edit_of(row))}
    make = type("Faulty", (Worker,), faulty)
    return Fault(f"vllm_gpu/{row['name']}", make, row["case"], row["stage"])


def rows(table: str) -> list[dict[str, Any]]:
    """Return the faults of a table of kernel_faults.toml."""
    file = files("sampler_parity.engines.vllm_gpu").joinpath("kernel_faults.toml")
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))[table]
    return found


FAULTS = [_fault(row) for row in rows("fault")]
