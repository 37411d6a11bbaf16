"""Cases with many tokens drawn from one state."""

from typing import ClassVar

from pydantic import Field, model_validator

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.sanitize import limits


class DrawsCase(StagesCase):
    """Many tokens drawn from one state."""

    check: ClassVar[str] = "draws"

    draws: int = Field(ge=1, le=limits.DRAWS_OF_CASE)
    """how many tokens to draw from one state"""

    @model_validator(mode="after")
    def _has_no_prompt(self) -> "DrawsCase":
        if self.prompt:
            raise ValueError("prompt does not go with draws")
        return self

    @property
    def n_draws(self) -> int:
        return self.draws
