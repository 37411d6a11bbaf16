"""Judge draws as stages on given logits; tokens.py compares them."""

from sampler_parity.harness.checks.stages.run import judge

__all__ = ["judge"]
