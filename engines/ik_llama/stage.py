"""A stage: a call of one of ik_llama.cpp's functions.

Functions that draw take a llama_context and share its generator. Here each such stage has its own
sequence: the context's generator is seeded again and advanced by the words that the stage has
drawn. The stage also keeps what a caller in C keeps: the last tokens, mu.
"""

from ctypes import POINTER, byref, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np

from sampler_parity.engines.ik_llama.functions import CHANGES, SELECTS
from sampler_parity.engines.ik_llama.library import Library
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates, TokenDataArray

_ARRAY = POINTER(TokenDataArray)
_PENALTIES = ("penalty_repeat", "penalty_freq", "penalty_present")
_DRY = ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n")


class Stage:
    def __init__(
        self, library: Library, name: str, of: dict[str, Any], n_vocab: int, vocab: str | None
    ) -> None:
        self.library, self.name, self.of = library, name, of
        self.n_vocab, self.vocab = n_vocab, vocab
        self.reset()

    def reset(self) -> None:
        self.last_tokens: list[int] = []
        self.mu = c_float(2 * self.of.get("tau", 0.0))
        make = {"dry": self._dry, "adaptive_p": self._adaptive_p}.get(self.name)
        self.sampler = make() if make else None
        self.drawn = 0
        self.library.drawing.pop(self.n_vocab, None)

    def _dry(self) -> Any:
        breakers = [text and text.encode() for text in self.of.get("seq_breakers", [])]
        values = [self.of[key] for key in _DRY]
        kinds = (c_void_p, c_float, c_float, c_int32, c_int32, c_void_p, c_size_t)
        array = (c_char_p * len(breakers))(*breakers)
        vocab = self.library.vocab(self.vocab, self.n_vocab)
        more = (*values, array, len(breakers))
        return self.library.call("llama_sampler_init_dry", c_void_p, kinds, vocab, *more)

    def _adaptive_p(self) -> Any:
        kinds = (c_int32, c_float, c_float, c_bool, c_uint32)
        values = (self.n_vocab, self.of["target"], self.of["decay"], True, self.of["seed"])
        return self.library.call("llama_init_adaptive_p", c_void_p, kinds, *values)

    def accept(self, token: int) -> None:
        self.last_tokens.append(token)
        if self.name == "dry":
            kinds = (c_void_p, c_int32)
            self.library.call("llama_sampler_dry_accept", None, kinds, self.sampler, token)

    def clone(self) -> "Stage":
        if self.name == "dry":
            self.library.call("llama_sampler_dry_clone", c_void_p, (c_void_p,), self.sampler)
        if self.name == "adaptive_p":
            raise Unsupported("ik_llama.cpp copies no adaptive_p")
        twin = Stage(self.library, self.name, self.of, self.n_vocab, self.vocab)
        twin.last_tokens, twin.drawn = list(self.last_tokens), self.drawn
        twin.mu = c_float(self.mu.value)
        return twin

    def apply(self, candidates: NativeCandidates) -> None:
        if self.name in CHANGES:
            by_value = CHANGES[self.name]
            values = [self.of[key] for key in by_value]
            self._call(candidates, self.name, tuple(by_value.values()), *values)
        elif self.name in SELECTS:
            symbol, by_value = SELECTS[self.name]
            values = [self.of[key] for key in by_value]
            mu = {POINTER(c_float): byref(self.mu)} if "mirostat" in self.name else {}
            self._select(candidates, symbol, (*by_value.values(), *mu), *values, *mu.values())
        elif self.name == "repetition_penalties":
            self._penalize(candidates)
        elif self.name == "dry":
            kinds = (c_void_p, c_void_p, _ARRAY)
            array = byref(candidates.array)
            self.library.call("llama_sample_dry", None, kinds, None, self.sampler, array)
        else:
            self._call(candidates, "adaptive_p", (c_void_p,), self.sampler)
            self._select(candidates, "token_adaptive_p", (c_void_p,), self.sampler)

    def _penalize(self, candidates: NativeCandidates) -> None:
        window = max(0, self.of["penalty_last_n"])
        last = self.last_tokens[-window:] if window else []
        values = [(c_int32 * len(last))(*last), len(last), *(self.of[key] for key in _PENALTIES)]
        kinds = (c_void_p, c_size_t, c_float, c_float, c_float)
        self._call(candidates, self.name, kinds, *values)

    def _context(self) -> Any:
        seed = self.of.get("seed")
        if seed is None or self.sampler:  # adaptive_p has a generator of its own
            return None if seed is None else self.library.context(self.n_vocab)
        return self.library.at(self, self.n_vocab, seed, self.drawn)

    def _call(
        self, candidates: NativeCandidates, name: str, kinds: tuple[Any, ...], *values: Any
    ) -> None:
        array, n = byref(candidates.array), candidates.array.size
        name = f"llama_sample_{name}"
        self.library.call(name, None, (c_void_p, _ARRAY, *kinds), self._context(), array, *values)
        if self.name == "xtc":
            self.drawn += 0 < self.of["p"] < 1 and self.of["t"] <= 0.5 and n > 1

    def _select(
        self, candidates: NativeCandidates, name: str, kinds: tuple[Any, ...], *values: Any
    ) -> None:
        array = byref(candidates.array)
        name, kinds = f"llama_sample_{name}", (c_void_p, _ARRAY, *kinds)
        token = self.library.call(name, c_int32, kinds, self._context(), array, *values)
        self.drawn += candidates.array.size > 1
        candidates.array.selected = int(np.flatnonzero(candidates.current()["id"] == token)[0])
