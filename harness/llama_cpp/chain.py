"""A chain of llama.cpp's native samplers."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
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
