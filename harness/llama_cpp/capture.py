"""The requests of `capture` to llama.cpp: tokens of texts, and logits decoded one token at a
time."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.protocol.messages import (
    CaptureRequest,
    TokenizeReply,
    TokenizeRequest,
)


def tokenize(model: Model, request: TokenizeRequest) -> TokenizeReply:
    if model.n_vocab < 1:
        raise InputError(model.path, "has no vocabulary", "name a model that generates text")
    library = model.library
    vocab = library.llama_model_get_vocab(model.model)
    return TokenizeReply(
        tokens=[_tokens(library, vocab, text.encode()) for text in request.texts],
        n_vocab=model.n_vocab,
        n_context=model.n_context,
    )


def _tokens(library: Libllama, vocab: int, text: bytes) -> list[int]:
    """Return the tokens: special tokens parsed, begin-of-text added if the model asks for it."""
    room = len(text) + 8
    buffer = (ctypes.c_int32 * room)()
    n = library.llama_tokenize(vocab, text, len(text), buffer, room, True, True)
    return list(buffer[: max(n, 0)])


def capture(model: Model, request: CaptureRequest, rows: NDArray[np.float32]) -> None:
    """Fill rows with the logits after the tokens at the positions, each decoded by itself."""
    model.check_vocabulary(request.n_vocab, request.tokens)
    row_of = {position: i for i, position in enumerate(request.positions)}
    context = Context(model, request.n_context, request.threads)
    try:
        for position in range(max(request.positions) + 1):
            logits = context.decode([request.tokens[position]])
            if position in row_of:
                rows[row_of[position]] = logits
    finally:
        context.close()
