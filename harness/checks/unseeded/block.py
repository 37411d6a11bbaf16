"""Cases in which a sampler draws a seed for itself, so that no two chains are alike."""

from typing import ClassVar

from sampler_parity.harness.checks.stages.block import StagesCase


class UnseededCase(StagesCase):
    """A chain whose tokens cannot be foretold."""

    check: ClassVar[str] = "unseeded"
