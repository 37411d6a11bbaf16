"""llguidance's matcher of a grammar over the tokens of a vocabulary (the extra `llguidance`)."""

import functools
import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import Vocab


def library() -> Any:
    """Import llguidance. Raises Unsupported if it is not installed."""
    try:
        return importlib.import_module("llguidance")
    except ImportError:
        extra = "pip install sampler-parity[llguidance]"
        raise Unsupported(f"llguidance is not installed: {extra}") from None


class Tokenizer:
    """A vocabulary in llguidance's form: special tokens begin with the byte 0xFF."""

    bos_token_id = None

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = replace(vocab, add_space_prefix=False)
        self.special_token_ids: Sequence[int] = sorted(vocab.eog)
        self.eos_token_id = vocab.eos
        self.tokens = [
            b"\xff" + piece if token in vocab.eog else piece
            for token, piece in enumerate(vocab.pieces)
        ]

    def __call__(self, text: bytes) -> list[int]:
        return self.vocab.tokenize(text)


@functools.cache
def tokenizer_of(vocab: Vocab) -> Any:
    wrapped = library().TokenizerWrapper(Tokenizer(vocab))
    return library().LLTokenizer(wrapped, eos_token=sorted(vocab.eog))


class Matcher:
    def __init__(self, matcher: Any, n_vocab: int) -> None:
        self.matcher, self.n_vocab = matcher, n_vocab
        self._check()

    def _check(self) -> None:
        if self.matcher.is_error():
            raise InputError("llguidance", self.matcher.get_error().splitlines()[0])

    def allowed(self) -> NDArray[np.bool_]:
        mask = np.frombuffer(self.matcher.compute_bitmask(), np.uint8)
        self._check()
        bits = np.unpackbits(mask, count=self.n_vocab, bitorder="little")
        return bits.view(np.bool_)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.try_consume_tokens([token]) == 1)

    def reset(self) -> None:
        self.matcher.reset()

    def clone(self) -> "Matcher":
        return Matcher(self.matcher.deep_copy(), self.n_vocab)
