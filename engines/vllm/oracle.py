"""Define how vLLM reads the golden model. It draws with random numbers of its own, so probabilities
are compared, not tokens."""

from dataclasses import replace

from sampler_parity.programs.servers.oracle.model import ROUNDING, KnownModel


def model(golden: KnownModel) -> KnownModel:
    """Return the golden model, whose logprobs another engine rounds differently."""
    return replace(golden, rounding=ROUNDING)
