"""Cases that say what must hold of the tokens of two chains."""

from typing import ClassVar, Literal

from sampler_parity.harness.checks.by_tokens import TokensCase

Streams = Literal["same_seed", "other_seed", "reset"]


class StreamsCase(TokensCase):
    """streams: how the second chain is related to the first."""

    check: ClassVar[str] = "streams"

    streams: Streams
