"""mlx_lm with the faults of engines/shared/verifier_faults.toml in its verifier."""

from sampler_parity.engines.mlx_lm import worker
from sampler_parity.engines.shared.verifiers import planted

Worker = planted(worker.Worker, "mlx_lm")
