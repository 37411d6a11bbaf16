"""The part of llama.cpp's `llama_vocab` that `dry` (string breakers) and `infill` need.

Two kinds: `bpe`, byte-level BPE with GPT-2's pre-tokenizer (tokenizer.ggml.model "gpt2", pre
"gpt-2"), and `spm`, SentencePiece (tokenizer.ggml.model "llama"). Source: src/llama-vocab.cpp at
v0.5.0. User-defined tokens and other pre-tokenizers are not covered and refused.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import pairwise

from sampler_parity.reference.errors import ChainError

_SPACE = "▁"
_WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class TokenType(IntEnum):
    """GGUF's tokenizer.ggml.token_type."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's printable character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unprintable = [b for b in range(256) if b not in printable]
    shifted = zip(unprintable, range(256, 512), strict=False)
    return {chr(b): b for b in printable} | {chr(code): b for b, code in shifted}


_BYTE_OF = _byte_alphabet()
_BYTE_TEXT = re.compile("<0x[0-9A-Fa-f]{2}>")
_BYTES_OF = {char: bytes([byte]) for char, byte in _BYTE_OF.items()}
_CHAR_OF = {byte: char for char, byte in _BYTE_OF.items()}


@dataclass(frozen=True, eq=False)  # by identity: it is a key of caches
class Vocab:
    """texts, types and scores by token id; merges ranks pairs of texts; eog are the ids that end a
    generation; eot and eos are -1 where there is none."""

    kind: str
    texts: tuple[str, ...]
    types: tuple[int, ...]
    scores: tuple[float, ...] = ()
    merges: dict[tuple[str, str], int] = field(default_factory=dict)
    eog: frozenset[int] = frozenset()
    eos: int = -1
    eot: int = -1
    add_space_prefix: bool = False

    def __post_init__(self) -> None:
        if self.kind not in ("bpe", "spm"):
            raise ChainError(f"vocabulary kind must be bpe or spm, got {self.kind!r}")
        if TokenType.USER_DEFINED in self.types:
            raise ChainError("vocabularies with user-defined tokens are not supported")
        lengths = len(self.texts), len(self.types), len(self.scores)
        if lengths[0] != lengths[1] or lengths[2] not in (0, lengths[0]):
            raise ChainError(
                "unequal numbers of texts, types, scores: {:,}, {:,}, {:,}".format(*lengths)
            )
        for text, kind in zip(self.texts, self.types, strict=True):
            if kind == TokenType.BYTE and not _BYTE_TEXT.fullmatch(text):
                raise ChainError(f"a byte token must be written as <0x0A>, got {text!r:.40}")

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {text: i for i, text in enumerate(self.texts)}

    def piece(self, token: int, special: bool = False) -> bytes:
        """Return a token's bytes (`llama_token_to_piece`), empty for special ones by default."""
        text, kind = self.texts[token], self.types[token]
        if kind in (TokenType.UNKNOWN, TokenType.CONTROL):
            return text.encode() if special else b""
        if kind == TokenType.BYTE:
            return bytes([int(text[3:5], 16)])
        if kind != TokenType.NORMAL:
            return b""
        if self.kind == "spm":
            return text.replace(_SPACE, " ").encode()
        return b"".join(_BYTES_OF.get(char) or char.encode() for char in text)

    def detokenize(self, token: int) -> bytes:
        """Return `llama_detokenize` of one token with special tokens spelled out."""
        piece = self.piece(token, special=True)
        if self.add_space_prefix:
            piece = piece.removeprefix(b" ")
        return _clean_spaces(piece) if self.kind == "bpe" else piece

    @cached_property
    def detokenized(self) -> tuple[bytes, ...]:
        """The bytes of every token: slow for a large vocabulary, and used by each `dry`."""
        return tuple(self.detokenize(token) for token in range(len(self)))

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes of every token, of special ones their name."""
        return tuple(self.piece(token, special=True) for token in range(len(self)))

    def tokenize(self, text: bytes) -> list[int]:
        """Tokenize as `llama_tokenize` without BOS and without parsing special tokens."""
        if not text:
            return []
        if self.kind == "spm":
            prefix = " " if self.add_space_prefix else ""
            return self._tokenize_spm((prefix.encode() + text).replace(b" ", _SPACE.encode()))
        tokens: list[int] = []
        for word in split_gpt2(decode(text)):
            tokens += self._tokenize_bpe("".join(_CHAR_OF[b] for b in word.encode()))
        return tokens

    def _tokenize_bpe(self, word: str) -> list[int]:
        parts = list(word)
        while True:
            pairs = pairwise(parts)
            ranks = [(self.merges[pair], i) for i, pair in enumerate(pairs) if pair in self.merges]
            if not ranks:
                break
            _, i = min(ranks)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids = self._ids
        return [ids[t] for part in parts for t in ([part] if part in ids else part) if t in ids]

    def _tokenize_spm(self, text: bytes) -> list[int]:
        parts = _utf8_parts(text)
        ids = {t.encode(): i for t, i in self._ids.items()}
        while True:
            pairs = [a + b for a, b in pairwise(parts)]
            scores = [(-self.scores[ids[p]], i) for i, p in enumerate(pairs) if p in ids]
            if not scores:
                break
            _, i = min(scores)  # the highest score; the leftmost of equal ones
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        tokens: list[int] = []
        for part in parts:
            tokens += [ids[part]] if part in ids else [self._byte_token(b) for b in part]
        return tokens

    def _byte_token(self, byte: int) -> int:
        ids = self._ids
        return ids.get(f"<0x{byte:02X}>", ids.get(chr(byte), -1))


def _utf8_parts(text: bytes) -> list[bytes]:
    """Split into characters by the length that the lead byte promises, valid or not."""
    parts, start = [], 0
    while start < len(text):
        lead = text[start] >> 4
        n = 1 if lead < 12 else (2 if lead < 14 else (3 if lead == 14 else 4))
        parts.append(text[start : start + n])
        start += n
    return parts


def decode(text: bytes) -> str:
    """Decode UTF-8, with U+FFFD for every single byte that does not belong to a character. For
    slices of valid text. (llama.cpp also reads overlong forms and surrogates as characters.)"""
    out, start = "", 0
    while start < len(text):
        for n in (1, 2, 3, 4):
            try:
                out += text[start : start + n].decode()
                start += n
                break
            except UnicodeDecodeError:
                continue
        else:
            out += "\N{REPLACEMENT CHARACTER}"
            start += 1
    return out


def _kind_of(char: str) -> str:
    if char in _WHITE_SPACE:
        return "space"
    category = unicodedata.category(char)[0]
    return {"L": "letter", "N": "number"}.get(category, "other")


def split_gpt2(text: str) -> list[str]:
    """Split as GPT-2's pre-tokenizer: contractions; letters, numbers or others after up to one
    space.
    """
    words, i, n = [], 0, len(text)
    while i < n:
        start = i
        contraction = next(
            (c for c in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d") if text.startswith(c, i)), ""
        )
        if contraction:
            i += len(contraction)
        else:
            first = i + 1 if text[i] == " " and i + 1 < n else i
            kind = _kind_of(text[first])
            if kind != "space":
                i = first
                while i < n and _kind_of(text[i]) == kind:
                    i += 1
            else:
                while i < n and text[i] in _WHITE_SPACE:
                    i += 1
                if i < n and i - start > 1:
                    i -= 1  # the last space goes with the word that follows
        words.append(text[start:i])
    return words


def _clean_spaces(text: bytes) -> bytes:
    """Clean up spaces as llama.cpp's three passes for BPE vocabularies
    (clean_up_tokenization_spaces).
    """
    if b" " not in text:
        return text
    for mark in (b"?", b"!", b".", b","):
        text = text.replace(b" " + mark, mark)
    text = text.replace(b" ' ", b"'")
    for ending in (b"'s", b"'m", b"'re", b"'ve"):
        text = text.replace(b" " + ending, ending)
    return text
