"""keras_hub/verifier with the faults of engines/shared/verifier_faults.toml."""

from sampler_parity.engines.keras_hub import verifier
from sampler_parity.engines.shared.verifiers import planted

Worker = planted(verifier.Worker, "keras_hub")
