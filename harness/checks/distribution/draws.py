"""Draw from a backend for the distribution tests, with moved seeds in the chain's last stage."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.distribution import exact
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.reference.random import Mt19937, uniforms

STRIDE = 7919  # between the seeds of two runs, so that their portions share none; a prime
_MOST_DRAWS = 1 << 22  # of one request: 16 MiB of tokens
_MOST_WORK = 1 << 27  # draws x tokens of one request: slow engines reply in time on a busy machine


class Source:
    """Draws from one state. seed: of the run; every portion has a seed of its own.

    possible: the number of tokens that can be drawn, which limits the size of a request.
    """

    def __init__(self, prepared: Prepared, backend: Backend, seed: int, possible: int = 1) -> None:
        client.claim(backend, "draws", prepared.chain)
        self.prepared, self.backend, self.ns = prepared, backend, 0
        self._first = self._next = seed * STRIDE
        self._portion = max(1, min(_MOST_DRAWS, _MOST_WORK // possible))
        self._seeds: list[tuple[int, int]] = []

    def draw(
        self, n: int, seed: int | None = None, uniforms: NDArray[np.float64] | None = None
    ) -> NDArray[np.int32]:
        """Return n tokens. seed: used instead of the next one. uniforms: numbers to draw with.
        Raises BackendFailure."""
        self._seeds = []
        parts = []
        for start in range(0, n, self._portion):
            size = min(self._portion, n - start)
            moved = self._next if seed is None else self._first + seed
            self._next += seed is None
            parts.append(self._ask(size, moved, uniforms))
        return np.concatenate(parts)

    def uniforms(self, n: int) -> NDArray[np.float64]:
        """Return the reference's uniform numbers for the seeds of the last draw of n tokens."""
        assert sum(size for _, size in self._seeds) == n
        return np.concatenate([uniforms(Mt19937(s), size) for s, size in self._seeds])

    def _ask(self, n: int, moved: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        backend, chain = self.backend, _moved(self.prepared.chain, moved)
        self._seeds.append((chain[-1][next(iter(chain[-1]))].get("seed", 0), n))
        drawn = client.draws(
            backend,
            replace(self.prepared.setting, chain=chain),
            self.prepared.rows[0],
            n,
            filters_once=exact.filters_once(chain),
            uniforms=uniforms,
        )
        self.ns += drawn.ns
        if ((drawn.tokens < 0) | (drawn.tokens >= self.prepared.case.logits.n)).any():
            raise backend.violation("drew a token that is not in the vocabulary")
        return drawn.tokens.copy()


def _moved(chain: p.ChainSpec, by: int) -> p.ChainSpec:
    """Return the chain with every seed moved, but never to llama.cpp's "take a random seed".

    seed_offset (Akunu) is a place in one fixed sequence, a draw a step: it moves by whole portions.
    """

    def move(parameters: dict[str, Any]) -> dict[str, Any]:
        moved = dict(parameters)
        if "seed" in moved:
            moved["seed"] = (moved["seed"] + by) % 0xFFFFFFFF
        if "seed_offset" in moved:
            moved["seed_offset"] = (moved["seed_offset"] + by * _MOST_DRAWS) % (1 << 32)
        return moved

    return [{name: move(settings) for name, settings in stage.items()} for stage in chain]
