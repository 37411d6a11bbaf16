"""`python slots.py MODEL STEPS`: two slots of a server, on random rows, by libllama's functions.

Half way through the first slot is reset. At three quarters the second one goes on as its clone.
"""

import ctypes
import sys
from typing import Any

import llama_cpp as llama
import numpy as np

N, FIRST = 3000, 300  # tokens, and the first of those that are likely
QUIET = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)


def chain(vocab: Any, seed: int) -> Any:
    made = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    breakers = (ctypes.c_char_p * 2)(*(piece(vocab, token) for token in (FIRST, FIRST + 3)))
    biases = (llama.llama_logit_bias * 2)(
        llama.llama_logit_bias(token=FIRST + 5, bias=4.0),
        llama.llama_logit_bias(token=FIRST + 7, bias=-9.0),
    )
    for sampler in (
        llama.llama_sampler_init_logit_bias(N, 2, biases),
        llama.llama_sampler_init_penalties(N, 16, 1.4, 0.3, 0.2),
        llama.llama_sampler_init_dry(vocab, 0.9, 1.75, 1, 64, breakers, 2),
        llama.llama_sampler_init_top_k(60),
        llama.llama_sampler_init_top_p(0.95, 1),
        llama.llama_sampler_init_min_p(0.05, 1),
        llama.llama_sampler_init_temp(0.8),
        llama.llama_sampler_init_xtc(0.5, 0.1, 1, seed),
        llama.llama_sampler_init_dist(seed),
    ):
        llama.llama_sampler_chain_add(made, sampler)
    return made


def piece(vocab: Any, token: int) -> bytes:
    text = ctypes.create_string_buffer(64)
    n = llama.llama_token_to_piece(vocab, token, text, 64, 0, True)
    return text.raw[:n]


def sample(made: Any, row: "np.ndarray[Any, np.dtype[np.float32]]") -> int:
    """Sample a token, and accept it."""
    data = (llama.llama_token_data * N)(*((i, x, 0.0) for i, x in enumerate(row.tolist())))
    candidates = llama.llama_token_data_array(data=data, size=N, selected=-1, sorted=False)
    llama.llama_sampler_apply(made, ctypes.byref(candidates))
    token = int(candidates.data[candidates.selected].id)
    llama.llama_sampler_accept(made, token)
    return token


def vocab_of(model: str) -> Any:
    """Load the vocabulary of a model, and print nothing."""
    llama.llama_log_set(QUIET, None)
    llama.llama_backend_init()
    params = llama.llama_model_default_params()
    params.vocab_only = True
    return llama.llama_model_get_vocab(llama.llama_model_load_from_file(model.encode(), params))


def main() -> None:
    model, steps = sys.argv[1], int(sys.argv[2])
    vocab = vocab_of(model)
    slots = [chain(vocab, 1), chain(vocab, 2)]
    rng = np.random.default_rng(3)
    for step in range(steps):
        if step == steps // 2:
            llama.llama_sampler_reset(slots[0])
        if step == steps * 3 // 4:
            slots[1] = llama.llama_sampler_clone(slots[1])
        row = rng.normal(0, 2, N).astype(np.float32)
        row[FIRST : FIRST + 8] += 6  # so that tokens come again, and histories count
        print(*(sample(slot, row) for slot in slots), flush=True)


if __name__ == "__main__":
    main()
