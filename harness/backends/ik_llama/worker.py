"""ik_llama: the sampling functions of ik_llama.cpp, as ik-llama-cpp-python 0.1.5 has it compiled.

A stage is a call of one of them. Those that draw take a llama_context, whose generator they share;
here each such stage has a generator of its own: that of a context, brought to its seed and to as
many words as the stage has drawn. What a caller of C keeps is kept here: the last tokens, mu.
"""

import os
import tempfile
from ctypes import POINTER, byref, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.ik_llama.functions import (
    CHANGES,
    LLAMA_CPP,
    OWN,
    SELECTS,
    own_stage,
)
from sampler_parity.harness.backends.ik_llama.library import Library
from sampler_parity.harness.backends.llama_cpp.candidates import NativeCandidates, TokenDataArray
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

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


class Instance:
    def __init__(self, stages: list[Stage]) -> None:
        self.stages = stages

    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        for chosen in self.stages if stage is None else [self.stages[stage]]:
            chosen.apply(candidates)

    def accept(self, token: int) -> None:
        for stage in self.stages:
            stage.accept(token)

    def reset(self) -> None:
        for stage in self.stages:
            stage.reset()

    def clone(self) -> "Instance":
        return Instance([_clone(stage) for stage in self.stages])

    def draw(
        self, candidates: NativeCandidates, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """n tokens by the last stage, which leaves the candidates as they are."""
        if uniforms is not None:
            raise Unsupported("ik_llama.cpp takes no uniforms")
        for stage in self.stages[:-1]:
            stage.apply(candidates)
        ids, last = candidates.current()["id"], self.stages[-1]
        selected = np.empty(n, np.int64)
        for i in range(n):
            last.apply(candidates)
            selected[i] = candidates.array.selected
        return ids[selected].astype(np.int32)


def _clone(stage: Stage) -> Stage:
    if stage.name == "dry":
        stage.library.call("llama_sampler_dry_clone", c_void_p, (c_void_p,), stage.sampler)
    if stage.name == "adaptive_p":
        raise Unsupported("ik_llama.cpp copies no adaptive_p")
    twin = Stage(stage.library, stage.name, stage.of, stage.n_vocab, stage.vocab)
    twin.last_tokens, twin.drawn = list(stage.last_tokens), stage.drawn
    twin.mu = c_float(stage.mu.value)
    return twin


class Worker:
    def __init__(self) -> None:
        self.library = Library()
        # where p is NaN the library writes probabilities.txt into the folder that it runs in
        self._folder = tempfile.TemporaryDirectory(prefix=f"sampler-parity-{os.getpid()}-")
        os.chdir(self._folder.name)

    def hello(self) -> HelloReply:
        return HelloReply(
            name="ik_llama",
            version=f"ik-llama-cpp-python {version('ik-llama-cpp-python')}",
            capabilities=["run", "draws", "time"],
            samplers=[*LLAMA_CPP, *OWN],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        stages = [own_stage(*one) for stage in chain for one in stage.items()]
        return Instance([Stage(self.library, *stage, n_vocab, vocab) for stage in stages])

    def candidates(self, logits: NDArray[np.float32]) -> NativeCandidates:
        return NativeCandidates(logits)

    def result(self, candidates: NativeCandidates) -> tuple[Any, Any, Any, bool | None, int]:
        return candidates.result()
