"""The characters of a token, which may begin and end inside one.

Source: decode_utf8, src/llama-grammar.cpp at v0.5.0. It trusts its input more than a decoder of
text does: overlong forms, surrogates and values beyond U+10FFFF are characters, and inside a token
any byte behind a lead byte is taken for a continuation. That is checked only across tokens.
"""

from typing import NamedTuple


class Partial(NamedTuple):
    """A character of which n_remain bytes are missing, value its bits so far; n_remain -1: what was
    read was no UTF-8."""

    value: int
    n_remain: int


COMPLETE = Partial(0, 0)
INVALID = Partial(0, -1)


class Decoded(NamedTuple):
    """The code points of complete characters, and the character begun after them."""

    code_points: tuple[int, ...]
    partial: Partial


def decode(piece: bytes, start: Partial = COMPLETE) -> Decoded:
    """Decode a piece that continues at the state `start`.

    Only the bytes before a NUL count.

    A piece that is no UTF-8 gives no code points and INVALID.
    """
    data = piece.split(b"\0")[0]
    value, n_remain = start
    at = 0
    while at < len(data) and n_remain > 0:
        if data[at] >> 6 != 0b10:
            return Decoded((), INVALID)
        value = (value << 6) + (data[at] & 0x3F)
        n_remain -= 1
        at += 1
    code_points = [value] if start.n_remain > 0 and n_remain == 0 else []
    while at < len(data):
        lead = data[at]
        n_remain = _CONTINUATIONS[lead >> 4]
        if n_remain < 0:
            return Decoded((), INVALID)
        value = lead & ((1 << (7 - n_remain)) - 1)
        following = data[at + 1 : at + 1 + n_remain]
        for byte in following:
            value = (value << 6) + (byte & 0x3F)
        at += 1 + len(following)
        n_remain -= len(following)
        if n_remain == 0:
            code_points.append(value)
    return Decoded(tuple(code_points), Partial(value, n_remain))


# by the upper half of the lead byte
_CONTINUATIONS = (0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, 1, 1, 2, 3)


def completions(partial: Partial) -> tuple[int, int]:
    """Return the lowest and the highest code point that a begun character can become."""
    low = partial.value << (partial.n_remain * 6)
    high = low | ((1 << (partial.n_remain * 6)) - 1)
    if low == 0 and partial.n_remain in (2, 3):  # overlong below
        low = 1 << (11 if partial.n_remain == 2 else 16)
    return low, high
