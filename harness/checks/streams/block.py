"""Cases that compare the tokens of two chains."""

from typing import ClassVar, Literal

from sampler_parity.harness.checks.by_tokens import TokensCase

Streams = Literal["same_seed", "other_seed", "reset"]


class StreamsCase(TokensCase):
    """A condition on the tokens of two chains."""

    check: ClassVar[str] = "streams"

    streams: Streams
    """relation of the second chain to the first: `other_seed` makes every seed one larger"""
