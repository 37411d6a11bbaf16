"""`ignore_eos`: llama.cpp has it as a parameter of its programs, not as a sampler. It is a bias of
-inf on every token that ends a generation."""

import math
from typing import Any

from sampler_parity.harness.llama_cpp.libllama import Libllama

NO_TOKEN = -1  # LLAMA_TOKEN_NULL


def bans_of_ends(library: Libllama, vocab: int) -> dict[str, dict[str, Any]]:
    """Return the stage that common_init_from_params makes of --ignore-eos; no biases without an EOS
    token."""
    ends: list[int] = []
    if library.llama_vocab_eos(vocab) != NO_TOKEN:
        tokens = range(library.llama_vocab_n_tokens(vocab))
        ends = [token for token in tokens if library.llama_vocab_is_eog(vocab, token)]
    return {"logit_bias": {"logit_bias": [[token, -math.inf] for token in ends]}}
