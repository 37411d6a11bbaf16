"""SGLang's verifier of trees with faults of its text (engines/shared/verifier_faults.toml)."""

from sampler_parity.engines.sglang import verifier
from sampler_parity.engines.shared.verifiers import planted

Worker = planted(verifier.Worker, "sglang_tree")
