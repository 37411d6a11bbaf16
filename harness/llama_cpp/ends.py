"""`ignore_eos`, which llama.cpp has as a parameter of its programs and not as a sampler: biases of
-inf on what its vocabulary takes for an end of generation."""

import math
from typing import Any

from sampler_parity.harness.llama_cpp.libllama import Libllama

NO_TOKEN = -1  # LLAMA_TOKEN_NULL


def bans_of_ends(library: Libllama, vocab: int) -> dict[str, dict[str, Any]]:
    """The stage that common_init_from_params makes of --ignore-eos; without an EOS token none."""
    ends: list[int] = []
    if library.llama_vocab_eos(vocab) != NO_TOKEN:
        tokens = range(library.llama_vocab_n_tokens(vocab))
        ends = [token for token in tokens if library.llama_vocab_is_eog(vocab, token)]
    return {"logit_bias": {"logit_bias": [[token, -math.inf] for token in ends]}}
