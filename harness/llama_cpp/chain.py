"""A chain of llama.cpp's native samplers, and one whose loop over its stages is native/stages.cpp,
for any release of llama.cpp."""

import ctypes
from ctypes import c_int32, c_void_p
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.compiled import SOURCES, built
from sampler_parity.harness.llama_cpp.libllama import Libllama


class NativeChain:
    """The stages one by one, and a second set of them in one llama_sampler_chain."""

    def __init__(self, library: Libllama, stages: list[int], chain: int) -> None:
        self.library, self.stages, self.chain = library, stages, chain
        self._apply, self._accept = library.llama_sampler_apply, library.llama_sampler_accept
        self._all = (*stages, chain)

    def apply(self, stage: int | None, candidates: NativeCandidates) -> None:
        sampler = self.chain if stage is None else self.stages[stage]
        self._apply(sampler, candidates.reference)

    def accept(self, token: int) -> None:
        for sampler in self._all:
            self._accept(sampler, token)

    def draw(
        self, candidates: NativeCandidates, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Draw n tokens by the last stage, a dist: it changes p and `selected` and reads
        neither."""
        if uniforms is not None:
            raise Unsupported("llama.cpp takes no uniforms")
        for stage in self.stages[:-1]:
            self.library.llama_sampler_apply(stage, candidates.reference)
        apply, last = self.library.llama_sampler_apply, self.stages[-1]
        array, reference = candidates.array, candidates.reference
        selected = np.empty(n, np.int64)
        for i in range(n):
            apply(last, reference)
            selected[i] = array.selected
        return candidates.current()["id"][selected].astype(np.int32)

    def sample(self, context: int, output: int = -1) -> int:
        """Sample a token from an output of a llama_context, by default the last; the chain accepts
        it."""
        return int(self.library.llama_sampler_sample(self.chain, context, output))

    def in_graph(self) -> int:
        """Return how many of the first samplers run in a graph. Their names begin with "+", or with
        "?" if they have no effect."""
        names = [
            self.library.llama_sampler_name(self.library.llama_sampler_chain_get(self.chain, i))
            for i in range(len(self.stages))
        ]
        return [*(name[:1] in (b"+", b"?") for name in names), False].index(False)

    def reset(self) -> None:
        for sampler in self._all:
            self.library.llama_sampler_reset(sampler)

    def clone(self) -> Self:
        clone = self.library.llama_sampler_clone
        return type(self)(self.library, [clone(s) for s in self.stages], clone(self.chain))

    def __del__(self) -> None:
        for sampler in self._all:
            self.library.llama_sampler_free(sampler)


@cache
def compiled_loop() -> ctypes.CDLL | None:
    """Return the library; None without a C++ compiler."""
    source = SOURCES / "stages.cpp"
    try:
        loop = ctypes.CDLL(str(built(source.stem, [source], [], [source])))
    except (InputError, OSError):
        return None
    samplers: list[Any] = [c_void_p, c_void_p, c_int32]
    loop.stages_apply.argtypes = [*samplers, c_void_p, c_int32, c_void_p, c_void_p]
    loop.stages_accept.argtypes = [*samplers, c_int32]
    loop.stages_apply.restype = loop.stages_accept.restype = None
    return loop


class CompiledChain(NativeChain):
    """Gives the same as a NativeChain, without a call from Python for each stage."""

    def __init__(self, library: Libllama, stages: list[int], chain: int) -> None:
        super().__init__(library, stages, chain)
        self._loop: Any = compiled_loop()
        n = len(stages)
        apply, accept = (ctypes.cast(f, c_void_p) for f in (self._apply, self._accept))
        self._each = (apply, (c_void_p * n)(*stages), n)
        self._whole = (apply, (c_void_p * 1)(chain), 1)
        self._accepting = (accept, (c_void_p * (n + 1))(*self._all), n + 1)
        self._left = (ctypes.c_int64 * (2 + 3 * max(n, 1)))()

    def apply_all(
        self, as_one: bool, row: NDArray[np.float32], out: int
    ) -> tuple[int | None, int, list[int]]:
        """Apply each stage, or the whole chain as one object, to candidates from a row. out: the
        address for all ids, all logits and all p of each; 0 if they are not wanted. Return the
        selected token, the nanoseconds, and n, sorted and selected of each stage."""
        samplers = self._whole if as_one else self._each
        start = row.__array_interface__["data"][0]
        self._loop.stages_apply(*samplers, start, len(row), out, self._left)
        token, ns, *stages = self._left[: 2 + 3 * samplers[2]]
        return None if token == -(1 << 63) else token, ns, stages  # INT64_MIN: stages.cpp

    def accept(self, token: int) -> None:
        self._loop.stages_accept(*self._accepting, token)


def chain_type() -> type[NativeChain]:
    """Return CompiledChain; NativeChain without a C++ compiler."""
    return CompiledChain if compiled_loop() else NativeChain
