"""Faults of the kernels of vLLM's second runner.

`on` of a row: the backends that it is planted in, in place of vllm_gpu alone.
"""

from sampler_parity.engines.shared.triton_faults import fault_of, rows
from sampler_parity.engines.vllm_gpu import worker_cpu
from sampler_parity.engines.vllm_gpu.worker import Worker

WORKERS = (Worker, worker_cpu.Worker)
ROWS = rows("vllm_gpu", "fault")
FAULTS = [
    fault_of(row, worker)
    for worker in WORKERS
    for row in ROWS
    if worker.name in row.get("on", [Worker.name])
]
