"""LitGPT's verifier with faults of its text (engines/shared/verifier_faults.toml)."""

from sampler_parity.engines.litgpt import verifier
from sampler_parity.engines.shared.verifiers import planted

Worker = planted(verifier.Worker, "litgpt")
