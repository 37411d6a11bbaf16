"""llama.cpp's native samplers, applied stage by stage and as one chain, through libllama."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.backends.libllama import (
    TOKEN_DATA,
    Libllama,
    LogitBias,
    TokenDataArray,
    default_folder,
)
from harness.errors import Unsupported
from harness.protocol import ChainSpec, HelloReply


class NativeCandidates:
    """n llama_token_data and the llama_token_data_array that points at them."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.data = np.empty(len(logits), TOKEN_DATA)
        self.data["id"] = np.arange(len(logits))
        self.data["logit"] = logits
        self.data["p"] = 0
        self.start = self.data.ctypes.data
        self.array = TokenDataArray(self.start, len(logits), -1, False)

    def current(self) -> NDArray[Any]:
        """The candidates now; xtc moves the start."""
        first = ((self.array.data or self.start) - self.start) // TOKEN_DATA.itemsize
        return self.data[first : first + self.array.size]


class NativeChain:
    """The stages one by one, and a second set of them in one llama_sampler_chain."""

    def __init__(self, library: Libllama, stages: list[int], chain: int) -> None:
        self.library, self.stages, self.chain = library, stages, chain

    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        sampler = self.chain if stage is None else self.stages[stage]
        self.library.llama_sampler_apply(sampler, ctypes.byref(candidates.array))

    def accept(self, token: int) -> None:
        for sampler in (*self.stages, self.chain):
            self.library.llama_sampler_accept(sampler, token)

    def reset(self) -> None:
        for sampler in (*self.stages, self.chain):
            self.library.llama_sampler_reset(sampler)

    def clone(self) -> "NativeChain":
        clone = self.library.llama_sampler_clone
        return NativeChain(self.library, [clone(s) for s in self.stages], clone(self.chain))

    def __del__(self) -> None:
        for sampler in (*self.stages, self.chain):
            self.library.llama_sampler_free(sampler)


class Worker:
    def __init__(self, folder: str = "") -> None:
        self.library = Libllama(Path(folder) if folder else default_folder())
        self._vocabs: dict[str, int] = {}

    def hello(self) -> HelloReply:
        return HelloReply(
            name="llama.cpp",
            version=self._version(),
            build=self.library.path.name,
            device=self.library.llama_print_system_info().decode(),
            capabilities=["run", "draws", "time", "whole_chain"],
            samplers=sorted(_INITIALIZERS),
        )

    def _version(self) -> str:
        return "v0.5.0 (llama-cpp-python 0.3.36)"

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> NativeChain:
        library = self.library
        stages = [self._init(stage, n_vocab, vocab) for stage in chain]
        native = library.llama_sampler_chain_init(library.llama_sampler_chain_default_params())
        for stage in chain:
            library.llama_sampler_chain_add(native, self._init(stage, n_vocab, vocab))
        return NativeChain(library, stages, native)

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        ((name, given),) = stage.items()
        if name not in _INITIALIZERS:
            raise Unsupported(f"this build of llama.cpp has no sampler {name}")
        native = self._vocab(vocab) if vocab else None
        return int(_INITIALIZERS[name](self.library, given, n_vocab, native))

    def _vocab(self, path: str) -> int:
        if path not in self._vocabs:
            model = self.library.load_model(Path(path), vocab_only=True)
            self._vocabs[path] = self.library.llama_model_get_vocab(model)
        return self._vocabs[path]

    def candidates(self, logits: NDArray[np.float32]) -> NativeCandidates:
        return NativeCandidates(logits)

    def result(self, candidates: NativeCandidates) -> tuple[Any, Any, Any, bool | None, int]:
        data, array = candidates.current(), candidates.array
        return data["id"], data["logit"], data["p"], array.sorted, array.selected


def _dry(lib: Libllama, p: dict[str, Any], _n_vocab: int, vocab: int | None) -> int:
    breakers = p["seq_breakers"]
    if not all(isinstance(breaker, str) for breaker in breakers):
        raise Unsupported("llama.cpp's C interface takes DRY sequence breakers as strings only")
    strings = (ctypes.c_char_p * len(breakers))(*(b.encode() for b in breakers))
    return lib.llama_sampler_init_dry(  # type: ignore[no-any-return]
        vocab,
        p["dry_multiplier"],
        p["dry_base"],
        p["dry_allowed_length"],
        p["dry_penalty_last_n"],
        strings,
        len(breakers),
    )


def _logit_bias(lib: Libllama, p: dict[str, Any], n_vocab: int, _vocab: int | None) -> int:
    pairs = (LogitBias * len(p["logit_bias"]))(*(LogitBias(t, b) for t, b in p["logit_bias"]))
    return lib.llama_sampler_init_logit_bias(n_vocab, len(pairs), pairs)  # type: ignore[no-any-return]


def _plain(symbol: str, *names: str) -> "Initializer":
    """An initializer that takes these parameters in this order."""

    def initialize(lib: Libllama, p: dict[str, Any], _n_vocab: int, _vocab: int | None) -> int:
        function = getattr(lib, f"llama_sampler_init_{symbol}")
        if function is None:
            raise Unsupported(f"this build of llama.cpp has no sampler {symbol}")
        return function(*(p[name] for name in names))  # type: ignore[no-any-return]

    return initialize


Initializer = Callable[[Libllama, dict[str, Any], int, int | None], int]

_INITIALIZERS: dict[str, Initializer] = {
    "greedy": _plain("greedy"),
    "dist": _plain("dist", "seed"),
    "top_k": _plain("top_k", "k"),
    "top_p": _plain("top_p", "p", "min_keep"),
    "min_p": _plain("min_p", "p", "min_keep"),
    "typical_p": _plain("typical", "p", "min_keep"),
    "temp": _plain("temp", "temp"),
    "temp_ext": _plain("temp_ext", "temp", "delta", "exponent"),
    "xtc": _plain("xtc", "p", "t", "min_keep", "seed"),
    "top_n_sigma": _plain("top_n_sigma", "n"),
    "mirostat": _plain("mirostat", "n_vocab", "seed", "tau", "eta", "m"),
    "mirostat_v2": _plain("mirostat_v2", "seed", "tau", "eta"),
    "penalties": lambda lib, p, n_vocab, _: lib.llama_sampler_init_penalties(
        n_vocab, p["penalty_last_n"], p["penalty_repeat"], p["penalty_freq"], p["penalty_present"]
    ),
    "dry": _dry,
    "logit_bias": _logit_bias,
    "adaptive_p": _plain("adaptive_p", "target", "decay", "seed"),
    "infill": lambda lib, _p, _n, vocab: lib.llama_sampler_init_infill(vocab),
}
