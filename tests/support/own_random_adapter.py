"""An adapter with the reference's samplers and random numbers of its own: `... [FAULT] [reversed]`.

The generator is NumPy's PCG64, seeded from the system, so no seed gives the same tokens twice;
`seed-0`: each sampler has one with the seed 0.
"""

import sys
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.harness.protocol.serve import run_worker
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.top_k import TopK

CHANCE = np.random.default_rng()
SEEDED = WeakKeyDictionary[Mt19937, np.random.Generator]()
# Faults of a draw: each changes the uniform.
FAULTS: dict[str, Callable[[float], float]] = {
    "": lambda u: u,
    "squared": lambda u: u * u,
    "half": lambda u: u / 2,
    "constant": lambda u: 0.5,
}
WRONG = "".join(sys.argv[1:2])
FAULT = FAULTS.get(WRONG, FAULTS[""])


def _words(rng: Mt19937, n: int) -> NDArray[np.uint64]:
    """Return the words of uniforms of 64 bits, the lower word first."""
    seeded = WRONG == "seed-0"
    chance = SEEDED.setdefault(rng, np.random.default_rng(0)) if seeded else CHANCE
    uniforms = [int(FAULT(chance.random()) * 2.0**64) for _ in range((n + 1) // 2)]
    return np.array([w for u in uniforms for w in (u & 0xFFFFFFFF, u >> 32)], np.uint64)[:n]


def _wrong(apply: Callable[[Dist, Candidates], None]) -> Callable[[Dist, Candidates], None]:
    """Return dist with a fault that is not of its random numbers."""

    def wrong(dist: Dist, cand: Candidates) -> None:
        if WRONG == "late-filter" and len(cand) > 2:
            cand.keep(slice(0, len(cand) - 1))
        apply(dist, cand)
        if WRONG == "wrong-p":
            cand.p = cand.p * np.float32(2)
        if WRONG == "impossible" and (cand.p == 0).any():
            cand.selected = int((cand.p == 0).argmax())

    return wrong


def _reversed(
    apply: Callable[[Mirostat, Candidates], None],
) -> Callable[[Mirostat, Candidates], None]:
    """Return mirostat behind a sort that leaves equal tokens in another order."""

    def reordered(sampler: Mirostat, cand: Candidates) -> None:
        cand.keep(slice(None, None, -1))
        apply(sampler, cand)

    return reordered


def _refuse(sampler: TopK, cand: Candidates) -> None:
    raise UndefinedInputError("it may remove the drawn token")


class Worker(reference.Worker):
    def hello(self) -> HelloReply:
        changes = {
            "name": "own",
            "random": "own",
            "capabilities": ["run", "draws", "origin", "batch"],
            "samplers": sorted(REFERENCE_SAMPLERS),
        }
        return super().hello().model_copy(update=changes)


if __name__ == "__main__":
    Mt19937.words = _words  # type: ignore[method-assign, assignment]
    Dist.apply = _wrong(Dist.apply)  # type: ignore[method-assign, assignment]
    if WRONG == "refuses":
        TopK.apply = _refuse  # type: ignore[method-assign, assignment]
    if "reversed" in sys.argv:
        Mirostat.apply = _reversed(Mirostat.apply)  # type: ignore[method-assign, assignment]
    run_worker(Worker)
