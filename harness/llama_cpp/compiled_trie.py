"""The token trie of native/token_trie.cpp in llama.cpp's native chain: no call of Python in it."""

import ctypes
from ctypes import Structure, c_bool, c_char_p, c_int32, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp import worker
from sampler_parity.harness.llama_cpp.compiled import SOURCES, compiled
from sampler_parity.harness.llama_cpp.libllama import words_of
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.reference import ChainError


class Params(Structure):
    """token_trie_params."""

    _fields_ = (
        ("path", c_char_p),
        ("model_id", c_char_p),
        ("n_vocab", c_int32),
        ("compact", c_bool),
        ("across", c_bool),
        ("cache", c_void_p),
    )


# name -> (result, arguments): token_trie.h
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "llama_sampler_init_token_trie": (c_void_p, [c_void_p, c_char_p, ctypes.c_int]),
    "token_trie_cache_init": (c_void_p, []),
    "token_trie_cache_free": (None, [c_void_p]),
    "token_trie_default_params": (Params, []),
    "token_trie_init": (c_void_p, [c_char_p, c_size_t, ctypes.c_int, Params]),
    "token_trie_slot_init": (c_void_p, [c_void_p, c_void_p]),
    "eliza_inference_set_token_trie": (None, [c_void_p, c_char_p, c_size_t, ctypes.c_int]),
    "eliza_inference_clear_token_trie": (None, [c_void_p]),
}


class CompiledTrie:
    """The library, with its functions as attributes. It calls the installed libllama, so load that
    first. Raises InputError if it cannot be compiled."""

    def __init__(self, source: Path = SOURCES / "token_trie.cpp") -> None:
        library = ctypes.CDLL(str(compiled(source)))
        for symbol, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, symbol)
            function.restype, function.argtypes = result, arguments
            setattr(self, symbol, function)

    def __getattr__(self, name: str) -> Any:  # for mypy: the functions are set in __init__
        raise AttributeError(name)

    def init(self, payload_json: str, mode: int, **params: Any) -> int:
        """Return a new llama_sampler; params: a Params. Raises ChainError with the errors of
        llama.cpp's log."""
        text = payload_json.encode(errors="surrogatepass")
        of_trie = self.token_trie_default_params()
        for name, value in params.items():
            setattr(of_trie, name, value)
        sampler = self.token_trie_init(text, len(text), mode, of_trie)
        if not sampler:
            arguments = (text, len(text), mode, of_trie)
            raise ChainError(words_of(lambda: self.token_trie_init(*arguments)))
        return int(sampler)


class Worker(worker.Worker):
    """The native samplers and the compiled trie among them."""

    def __init__(self, source: Path = SOURCES / "token_trie.cpp") -> None:
        super().__init__()
        self.tries = CompiledTrie(source)

    def hello(self) -> HelloReply:
        hello = super().hello()
        samplers = sorted([*hello.samplers, "token_trie"])
        return hello.model_copy(update={"name": "token_trie/compiled", "samplers": samplers})

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        ((name, parameters),) = stage.items()
        if name != "token_trie":
            return super()._init(stage, n_vocab, vocab)
        texts = {key: _text(key, parameters[key]) for key in ("path", "model_id")}
        limit = parameters["n_vocab"]
        return self.tries.init(
            parameters["trie_descriptor_json"],
            parameters["mode"],
            **texts,
            n_vocab=-1 if limit is None else limit,
            compact=parameters["compact"],
            across=parameters.get("across", False),
        )


def _text(name: str, value: str) -> bytes:
    if "\0" in value:
        raise Unsupported(f"C takes no {name} with a zero in it")
    return value.encode(errors="surrogatepass")
