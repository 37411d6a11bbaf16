"""Cases in which a sampler draws its own seed, so that no two chains are alike."""

from typing import ClassVar

from pydantic import model_validator

from sampler_parity.harness.checks.stages.block import StagesCase


class UnseededCase(StagesCase):
    """A chain whose tokens cannot be predicted.

    The check has a plan of its own: two instances in turn, then one of them after a reset. A script
    would leave it without rows.
    """

    check: ClassVar[str] = "unseeded"

    @model_validator(mode="after")
    def _has_no_script(self) -> "UnseededCase":
        if self.script != "plain":
            raise ValueError("remove the script, or give the seed another value than 4294967295")
        return self
