"""vllm_gpu/cpu: the same kernels with the block sizes that vLLM gives to a tensor on a CPU."""

from sampler_parity.engines.vllm_gpu import worker


class Worker(worker.Worker):
    name = "vllm_gpu/cpu"
    edits = ()
