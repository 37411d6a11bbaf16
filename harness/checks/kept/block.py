"""Cases that say which tokens a chain leaves."""

from typing import ClassVar

from pydantic import BaseModel

from sampler_parity.harness.checks.by_tokens import TokensCase
from sampler_parity.harness.strict import STRICT, Tokens


class Kept(BaseModel):
    """kept: the ids that can be drawn, in any order; a backend is judged by what it draws, and by
    nothing else."""

    model_config = STRICT

    kept: Tokens


class KeptCase(TokensCase):
    """A chain on one row, drawn from often."""

    check: ClassVar[str] = "kept"

    expect: Kept
