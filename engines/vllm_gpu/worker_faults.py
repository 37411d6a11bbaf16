"""Faults of the kernels of vLLM's second runner."""

from sampler_parity.engines.shared.triton_faults import fault_of, rows
from sampler_parity.engines.vllm_gpu import worker_cpu
from sampler_parity.engines.vllm_gpu.worker import Worker

ALSO_ON_CPU = ("min_p-block", "top_k-one-more", "top_k-ties")  # of the same text there
ROWS = rows("vllm_gpu", "fault")
FAULTS = [fault_of(row, Worker) for row in ROWS]
FAULTS += [fault_of(row, worker_cpu.Worker) for row in ROWS if row["name"] in ALSO_ON_CPU]
