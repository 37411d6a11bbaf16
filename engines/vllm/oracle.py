"""Say how vLLM reads the golden model. It draws with numbers of its own: its probabilities are
compared, not its tokens."""

from dataclasses import replace

from sampler_parity.harness.servers.oracle.model import ROUNDING, KnownModel


def model(golden: KnownModel) -> KnownModel:
    """Return the golden model, whose logprobs another engine rounds otherwise."""
    return replace(golden, rounding=ROUNDING)
