"""Read replies: strict JSON, of the version of the protocol in use."""

from typing import Any

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import R
from sampler_parity.harness.sanitize.data import json_of

LARGEST = 10**18 - 1  # no count, place or time needs more, and any reader holds it


class OtherVersion(Exception):  # noqa: N818 - an answer
    """The backend speaks another version of the protocol."""


def parsed(line: bytes) -> Any:
    """Return the JSON of a reply. Raises ValueError for JSON that only some readers accept."""
    return json_of(line.decode(), LARGEST, constants=False)


def checked(answer: Any, reply: type[R]) -> R | p.ErrorReply:
    """Return the reply. Raises ValueError for another kind of reply, OtherVersion."""
    if isinstance(answer, dict) and answer.get("ok") is False:
        return p.ErrorReply.model_validate(answer)
    if reply is p.HelloReply:  # before the rest is read, which another version may word otherwise
        version = answer.get("protocol", 1) if isinstance(answer, dict) else 1
        if version not in p.SPOKEN:
            spoken = " and ".join(map(str, p.SPOKEN))
            raise OtherVersion(f"it speaks protocol {version!r}, the harness protocol {spoken}")
    return reply.model_validate(answer)
