"""Find the tokens that may follow a text that is read strictly, as UTF-8 byte by byte.

A token may follow if, and only if, the text with it is the beginning of characters that the grammar
takes. No sampler has this meaning. It separates the effects of llama.cpp's reading (utf8.py,
stacks.py) from any other difference.

llama.cpp reads otherwise. A begun character fits [^...] only if all its completions do. Bytes that
are no UTF-8 are characters, and a NUL ends a token. A token rule also holds inside a token's text.
"""

import codecs
import functools

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.grammar.rules import Kind
from sampler_parity.reference.grammar.stacks import TOKENS, Machine, Stack, State
from sampler_parity.reference.grammar.utf8 import COMPLETE, Decoded, Partial, completions
from sampler_parity.reference.vocab import Vocab

# The ways to read a text: where it stands in the grammar, and the bytes of a begun character.
Ways = list[tuple[State, bytes]]

_NO_TEXT = Decoded((), COMPLETE)
_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


@functools.lru_cache(maxsize=64)
def strictly_allowed(machine: Machine, vocab: Vocab, tokens: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return for every token whether it may follow these. Ends of a generation change nothing."""
    ways: Ways = [(machine.start, b"")]
    for token in tokens:
        if token not in vocab.eog:
            ways = _accepted(machine, ways, token, vocab.pieces[token])
    may_end = any(state.may_end and not begun for state, begun in ways)
    return np.array(
        [
            may_end if token in vocab.eog else _fits(machine, ways, token, piece)
            for token, piece in enumerate(vocab.pieces)
        ],
        np.bool_,
    )


def _fits(machine: Machine, ways: Ways, token: int, piece: bytes) -> bool:
    return any(
        not begun or _can_become(machine, stack, begun)
        for state, begun in _accepted(machine, ways, token, piece)
        for stack in state.stacks
    )


def _accepted(machine: Machine, ways: Ways, token: int, piece: bytes) -> Ways:
    """Accept a token by its id, and by its text if it has one."""
    reached: Ways = []
    for state, begun in ways:
        if not begun:
            token_state = machine.state_of(_expecting(machine, state, tokens=True))
            reached.append((machine.accept_token(token_state, token, _NO_TEXT), b""))
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            characters = decoder.decode(begun + piece) if piece else None
        except UnicodeDecodeError:
            characters = None
        if characters is not None:
            for character in characters:
                state = machine.after(state, ord(character))
            reached.append((state, decoder.getstate()[0]))
    return [(state, begun) for state, begun in reached if state.stacks]


def _expecting(machine: Machine, state: State, tokens: bool) -> list[Stack]:
    """Return the stacks that expect a token rule next."""
    kinds = ((stack, machine.elements[stack[-1]].kind) for stack in state.stacks if stack)
    return [stack for stack, kind in kinds if (kind in TOKENS) == tokens]


def _can_become(machine: Machine, stack: Stack, begun: bytes) -> bool:
    """Return whether a character that begins with these bytes is in the class that comes next."""
    if not stack or machine.elements[stack[-1]].kind in TOKENS:
        return False
    first, last = _range_of(begun)
    if first > last:
        return False
    classes = machine.ranges(stack[-1])
    if machine.elements[stack[-1]].kind != Kind.CHAR_NOT:
        return any(low <= last and first <= high for low, high, _ in classes)
    at = first  # the lowest one that is not excluded so far
    for low, high, _ in sorted(classes):
        if low <= at <= high:
            at = high + 1
        if at in _SURROGATES:
            at = _SURROGATES.stop
    return at <= last


def _range_of(begun: bytes) -> tuple[int, int]:
    """Return the lowest and highest character that begins with these bytes; low > high if none
    does.
    """
    lead = begun[0]
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    value = lead & (0x7F >> length)
    for byte in begun[1:]:
        value = (value << 6) | (byte & 0x3F)
    low, high = completions(Partial(value, length - len(begun)))
    # ED A0..BF would encode surrogates, which UTF-8 excludes
    return low, min(high, _SURROGATES.start - 1 if lead == 0xED else _LAST)
