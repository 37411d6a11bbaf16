"""transformers with the faults of engines/shared/verifier_faults.toml in its verifier."""

from sampler_parity.engines.shared.verifiers import planted
from sampler_parity.engines.transformers import worker

Worker = planted(worker.Worker, "transformers")
