"""Lines of replies: JSON that every reader takes, of the version of the protocol that is spoken."""

import json
from typing import Any

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import R

_DIGITS = 18  # of a whole number: no count, place or time needs more, and any reader holds it


class OtherVersion(Exception):  # noqa: N818 - an answer
    """The backend speaks another version of the protocol."""


def parsed(line: bytes) -> Any:
    """The JSON of a reply. ValueError for what only some readers of JSON take."""
    answer = json.loads(line.decode(), parse_int=_whole, parse_constant=_no_json)
    if b"\\u" in line:
        json.dumps(answer, ensure_ascii=False).encode()  # half a surrogate pair has no bytes
    return answer


def checked(answer: Any, reply: type[R]) -> R | p.ErrorReply:
    """Raises ValueError for what is no such reply, OtherVersion."""
    if isinstance(answer, dict) and answer.get("ok") is False:
        return p.ErrorReply.model_validate(answer)
    if reply is p.HelloReply:  # before the rest is read, which another version may word otherwise
        version = answer.get("protocol", 1) if isinstance(answer, dict) else 1
        if version != p.PROTOCOL_VERSION:
            spoken = p.PROTOCOL_VERSION
            raise OtherVersion(f"it speaks protocol {version!r}, the harness protocol {spoken}")
    return reply.model_validate(answer)


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > _DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
