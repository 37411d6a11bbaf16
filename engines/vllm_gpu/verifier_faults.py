"""vllm_gpu/v1 with the faults of engines/shared/verifier_faults.toml in its rejection sampler."""

from sampler_parity.engines.shared.verifiers import planted
from sampler_parity.engines.vllm_gpu import v1

Worker = planted(v1.Worker, "vllm_gpu")
