"""ik_llama.cpp's libllama as the package ik_llama_cpp has it, its models and contexts."""

import importlib
import os
import tempfile
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int32, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.engines.shared.table_model import gguf as table
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates, TokenDataArray
from sampler_parity.harness.llama_cpp.libllama import keep_error

_CONTEXTS = 4  # its ggml holds 64 of its own contexts; one here takes two or three
_LOG = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
_KEEP_ERRORS = _LOG(keep_error)  # of the module, because it is called as long as the process lives


class Library:
    def __init__(self) -> None:
        os.environ["PATH"] = "/nowhere"  # its ggml answers an abort by running gdb on itself
        try:
            self.api = importlib.import_module("ik_llama_cpp._ctypes_api")
        except ImportError:
            raise Unsupported("ik_llama_cpp is not installed") from None
        self.vocabs: dict[str, Any] = {}
        self.contexts: dict[int, tuple[Any, Any]] = {}  # with its model, by size of vocabulary
        self.drawing: dict[int, Any] = {}  # the user whose random numbers each of them has
        self.call("llama_log_set", None, (_LOG, c_void_p), _KEEP_ERRORS, None)
        self.api.llama_backend_init()

    def call(self, name: str, result: Any, kinds: tuple[Any, ...], *values: Any) -> Any:
        function = getattr(self.api._lib, name)
        function.restype, function.argtypes = result, kinds
        return function(*values)

    def vocab(self, path: str | None, n_vocab: int) -> Any:
        """Return the llama_vocab of a file; without a file, of a model with so many tokens."""
        if path is None:
            self.context(n_vocab)
            return self.api.llama_model_get_vocab(self.contexts[n_vocab][1])
        if path not in self.vocabs:
            self.vocabs[path] = self._load(Path(path), vocab_only=True)
        return self.api.llama_model_get_vocab(self.vocabs[path])

    def _load(self, path: Path, vocab_only: bool = False) -> Any:
        parameters = self.api.llama_model_default_params()
        parameters.vocab_only, parameters.use_mmap = vocab_only, False
        model = self.api.llama_model_load_from_file(str(path).encode(), parameters)
        if not model:
            raise InputError(path, "ik_llama.cpp cannot load this model")
        return model

    def context(self, n_vocab: int) -> Any:
        """Return a context of a model of zeros with so many tokens."""
        if n_vocab not in self.contexts:
            if len(self.contexts) == _CONTEXTS:
                context, model = self.contexts.pop(next(iter(self.contexts)))
                self.api.llama_free(context)
                self.api.llama_free_model(model)
            with tempfile.TemporaryDirectory() as folder:
                table.write(Path(folder), np.zeros((1, n_vocab), np.float32))
                model = self._load(Path(folder) / table.FILE)
            parameters = self.api.llama_context_default_params()
            parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 32
            parameters.n_threads = parameters.n_threads_batch = 1
            self.contexts[n_vocab] = self.api.llama_init_from_model(model, parameters), model
            self.drawing.pop(n_vocab, None)
        return self.contexts[n_vocab][0]

    def at(self, who: Any, n_vocab: int, seed: int, drawn: int) -> Any:
        """Return a context whose generator has drawn so many words since the seed, for one user."""
        context = self.context(n_vocab)
        if self.drawing.get(n_vocab) is not who:
            self.call("llama_set_rng_seed", None, (c_void_p, c_uint32), context, seed)
            two = NativeCandidates(np.zeros(2, np.float32))
            kinds = (c_void_p, POINTER(TokenDataArray))
            for _ in range(drawn):
                self.call("llama_sample_token", c_int32, kinds, context, byref(two.array))
            self.drawing[n_vocab] = who
        return context
