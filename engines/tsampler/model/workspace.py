"""SamplerWorkspace and requiredKcap of tsampler: how the buffers grow.

The capacity is a power of two and never shrinks. A set of candidates made before it grew must not
be used afterwards (check `version`). A slot holds six values of 4 bytes (idxK, valK, probK, tmpIdx,
tmpLogits, tmpProbs), 24 bytes; the documentation's "512 x 12 bytes = 6KB" counts three of them and
its "~0.5KB" for 64 slots two.

Readings: requiredKcap is the documented formula, so it is 256 for top_k = 40, and the documented
"first token with K = 40 allocates 64" holds for a workspace that starts below 64 and is grown by
top-k alone. The capacity is rounded up beyond n_vocab if n_vocab is no power of two.
"""

from dataclasses import dataclass, field

DEFAULT_KCAP = 256
TYPICAL_P_KCAP = 512


def required_kcap(top_k: int | None, typical_p: float | None, n_vocab: int) -> int:
    """Return min(n_vocab, max(top_k, 512 with typical-p, else 256))."""
    pool = TYPICAL_P_KCAP if typical_p is not None and typical_p < 1 else DEFAULT_KCAP
    return min(n_vocab, max(top_k or 0, pool))


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n; 1 for n <= 1."""
    return 1 << max(0, n - 1).bit_length()


@dataclass
class SamplerWorkspace:
    """The observable state of the buffers: capacity and version."""

    initial: int = DEFAULT_KCAP
    capacity: int = field(init=False)
    version: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.capacity = power_of_two(self.initial)

    def ensure_capacity(self, needed: int) -> None:
        if needed > self.capacity:
            self.capacity = power_of_two(needed)
            self.version += 1
