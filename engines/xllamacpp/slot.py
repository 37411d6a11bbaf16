"""Predict all that llama-server reports of a text, from its tokens: pieces, stop, counts.

Source: server_context_impl::process_token, server_slot::find_stopping_strings and validate_utf8 of
llama.cpp's tools/server at v0.5.0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sampler_parity.reference.vocab import Vocab

# The bytes of a character by its first byte: mask, pattern, number.
_FIRST_BYTES = ((0xE0, 0xC0, 2), (0xF0, 0xE0, 3), (0xF8, 0xF0, 4))


@dataclass
class Slot:
    """Hold a text under way. length: of n_predict; -1: none. context: the tokens of a context that
    are left; 0: unknown. reported: places of tokens that are reported, for part of a character is
    not."""

    vocab: Vocab
    length: int
    context: int
    stops: Sequence[bytes] = ()
    text: bytes = b""
    sent: int = 0
    tokens: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    reported: list[int] = field(default_factory=list)
    stop_type: str = "none"
    stopping_word: str = ""
    truncated: bool = False
    has_new_line: bool = False

    def add(self, token: int) -> None:
        """Add a token that was drawn; stop_type is "none" as long as the text goes on."""
        piece = self.vocab.piece(token, special=False)
        self.tokens.append(token)
        self.text += piece
        if not _incomplete(self.text):
            self._send(token, len(piece))
        else:
            self.has_new_line |= b"\n" in piece
        if self.context and len(self.tokens) >= self.context:
            self.truncated, self.stop_type = True, "limit"
        elif self.stop_type == "none" and 0 <= self.length <= len(self.tokens):
            self.stop_type = "limit"
        if token in self.vocab.eog:
            self.stop_type = "eos"

    def _send(self, token: int, size: int) -> None:
        """Send what is not held back as the possible beginning of a stop string."""
        waiting = self.text[self.sent :]
        found = [
            (at, i)
            for i, stop in enumerate(self.stops)
            if (at := waiting.find(stop, max(0, len(waiting) - len(stop) - size))) >= 0
        ]
        if found:
            at, i = min(found)
            self.text = self.text[: self.sent + at]
            self.stop_type, self.stopping_word = "word", self.stops[i].decode()
        held = (
            token not in self.vocab.eog
            and not found
            and any(
                waiting.endswith(stop[:n]) for stop in self.stops for n in range(1, len(stop) + 1)
            )
        )
        piece = b"" if held else self.text[self.sent :]
        self.sent += len(piece)
        self.has_new_line |= b"\n" in piece
        self.pieces.append(piece)
        self.reported.append(len(self.tokens) - 1)

    @property
    def listed(self) -> list[int]:
        """Return the places of the tokens that an answer in one part reports: those of the stop
        string, as it is tokenized, are left out."""
        word = self.vocab.tokenize(self.stopping_word.encode()) if self.stop_type == "word" else []
        return self.reported[: max(0, len(self.reported) - len(word))]


def _incomplete(text: bytes) -> bool:
    """Return whether a text ends within a character."""
    last = enumerate(reversed(text[-4:]), 1)
    return any(c & mask == first and i < n for i, c in last for mask, first, n in _FIRST_BYTES)
