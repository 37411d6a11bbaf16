"""Cases with the tokens that a chain must leave."""

from typing import ClassVar

from sampler_parity.harness.checks.by_tokens import TokensCase
from sampler_parity.harness.strict import Strict, Tokens


class Kept(Strict):
    """The tokens that a chain leaves."""

    kept: Tokens
    """ids that can be drawn, in any order"""


class KeptCase(TokensCase):
    """A chain on one row, drawn from often."""

    check: ClassVar[str] = "kept"

    expect: Kept
    """the tokens that the chain leaves"""
