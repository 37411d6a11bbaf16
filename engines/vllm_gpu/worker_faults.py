"""Faults of the kernels of vLLM's second runner, each an edit of the text of one of its files."""

import tomllib
from importlib.resources import files
from typing import Any

from sampler_parity.engines.shared.triton_files import edit_of
from sampler_parity.engines.vllm_gpu import worker_cpu
from sampler_parity.engines.vllm_gpu.worker import Worker
from sampler_parity.harness.faults.engine_faults import Fault


def _fault(row: dict[str, Any], worker: type[Worker] = Worker) -> Fault:
    faulty = {"__doc__": row["text"], "edits": (*worker.edits, edit_of(row))}
    make = type("Faulty", (worker,), faulty)
    return Fault(f"{worker.name}/{row['name']}", make, row["case"], row["stage"])


def rows(table: str) -> list[dict[str, Any]]:
    """Return the faults of a table of kernel_faults.toml."""
    file = files("sampler_parity.engines.vllm_gpu").joinpath("kernel_faults.toml")
    found: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))[table]
    return found


ALSO_ON_CPU = ("min_p-block", "top_k-one-more", "top_k-ties")  # of the same text there
FAULTS = [_fault(row) for row in rows("fault")]
FAULTS += [_fault(row, worker_cpu.Worker) for row in rows("fault") if row["name"] in ALSO_ON_CPU]
