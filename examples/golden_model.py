"""Decodes the golden model, for the examples."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.reference import Vocab
from sampler_parity.reference.vocab import decode

Row = NDArray[np.float32]


def vocabulary() -> Vocab:
    return read_vocab(model_path("small"))


def generate(prompt: str, n_tokens: int, choose: Callable[[Row], int | None]) -> str:
    """Return the prompt's continuation; choose gets the logits float32[n_vocab] of each position.

    It ends after n_tokens, or if choose gives None.
    """
    vocab = vocabulary()
    model = Model(Libllama(default_folder()), model_path("small"))
    tokens = [vocab.texts.index("<|bos|>"), *vocab.tokenize(prompt.encode())]
    context = Context(model, len(tokens) + n_tokens)
    text = b""
    try:
        logits = context.decode(tokens)
        for i in range(n_tokens):
            token = choose(logits.copy())
            if token is None:
                break
            text += vocab.piece(token)
            if i + 1 < n_tokens:
                logits = context.decode([token])
    finally:
        context.close()
    return decode(text)
