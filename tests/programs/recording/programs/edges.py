"""`python edges.py MODEL NAME [LIBRARY]`: what a program may do to a recorder, one by name."""

import ctypes
import sys
from importlib import import_module
from typing import Any

import llama_cpp as llama
import numpy as np

slots: Any = import_module("slots")  # it stands next to this file
LENGTH = 30


def rows(seed: int, count: int = LENGTH) -> "list[np.ndarray[Any, np.dtype[np.float32]]]":
    """Return rows with a few likely tokens."""
    rng = np.random.default_rng(seed)
    found = [rng.normal(0, 2, slots.N).astype(np.float32) for _ in range(count)]
    for row in found:
        row[slots.FIRST : slots.FIRST + 8] += 6
    return found


def tokens(made: Any, seed: int, count: int = LENGTH) -> list[int]:
    return [int(slots.sample(made, row)) for row in rows(seed, count)]


Apply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(llama.llama_token_data_array))


class Interface(ctypes.Structure):
    """llama_sampler_i with an apply function alone: no name, and no clone."""

    _fields_ = (("name", ctypes.c_void_p), ("accept", ctypes.c_void_p), ("apply", Apply),
                ("others", ctypes.c_void_p * 12))  # fmt: skip


def halve(_sampler: Any, candidates: Any) -> None:
    """Halve every logit but the first, of the odd tokens."""
    array = candidates.contents
    for i in range(1, array.size, 2):
        array.data[i].logit /= 2


HALVE = Apply(halve)  # kept alive
INTERFACE = Interface(apply=HALVE)


def custom(vocab: Any) -> None:
    """Put a sampler of one's own between libllama's, and another chain into the chain."""
    made = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    inner = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    llama.llama_sampler_chain_add(inner, llama.llama_sampler_init_temp(1.1))
    interface = ctypes.cast(ctypes.pointer(INTERFACE), ctypes.POINTER(llama.llama_sampler_i))
    own = llama.llama_sampler_init(interface, None)
    for sampler in (
        llama.llama_sampler_init_penalties(slots.N, 16, 1.4, 0.3, 0.2),
        own,
        llama.llama_sampler_init_temp(0.9),
        inner,
        llama.llama_sampler_init_top_k(60),
        llama.llama_sampler_init_dist(5),
    ):
        llama.llama_sampler_chain_add(made, sampler)
    print(tokens(made, 1))


def changed(vocab: Any) -> None:
    """Remove a member, add it elsewhere, reset, and go on as a clone."""
    made = slots.chain(vocab, 1)
    print(tokens(made, 1))
    top_k = llama.llama_sampler_chain_remove(made, 3)
    print(tokens(made, 2))
    other = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    llama.llama_sampler_chain_add(other, top_k)
    llama.llama_sampler_chain_add(other, llama.llama_sampler_init_dist(8))
    print(tokens(other, 3))
    clone = llama.llama_sampler_clone(made)
    llama.llama_sampler_reset(made)
    print(tokens(clone, 4), tokens(made, 4))
    llama.llama_sampler_free(other)
    print(tokens(clone, 5))


def null(vocab: Any) -> None:
    """Give null pointers where libllama takes them."""
    made = slots.chain(vocab, 1)
    llama.llama_sampler_apply(None, None)
    llama.llama_sampler_free(None)
    llama.llama_sampler_reset(None)
    llama.llama_sampler_accept(None, 3)
    print(tokens(made, 1))


def second(vocab: Any) -> None:
    """Load a second libllama, and sample with both."""
    made = slots.chain(vocab, 1)
    print(tokens(made, 1, 3))
    other = ctypes.CDLL(sys.argv[3])
    other.llama_sampler_init_dist.restype = ctypes.c_void_p
    dist = ctypes.c_void_p(other.llama_sampler_init_dist(ctypes.c_uint32(4)))
    for row in rows(2):
        data = (llama.llama_token_data * slots.N)(*((i, x, 0.0) for i, x in enumerate(row)))
        candidates = llama.llama_token_data_array(data=data, size=slots.N, selected=-1)
        other.llama_sampler_apply(dist, ctypes.byref(candidates))
        print(candidates.selected, end=" ")
    print(tokens(made, 3))


def main() -> None:
    model, name = sys.argv[1:3]
    globals()[name](slots.vocab_of(model))


if __name__ == "__main__":
    main()
