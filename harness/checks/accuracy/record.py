"""The distance of a sampler's results from exact ones: one line of JSON."""

from typing import Literal, Self

from sampler_parity.harness.strict import Strict


class AccuracyOnBackend(Strict):
    """The errors of a backend over all rows, as harness/correct/accuracy.py defines them."""

    failed: str = ""
    p_median: float = 0.0
    """median error of p, ULPs of float32"""
    p_largest: float = 0.0
    """largest error of p, ULPs"""
    mass_median: float = 0.0
    """median error of a running sum of p, ULPs"""
    mass_largest: float = 0.0
    """largest error of a running sum, ULPs"""
    mass_share: float = 0.0
    """largest error of a running sum, as a share of the whole mass"""
    kept_tokens: int = 0
    """tokens kept, minus those of the exact result, in the row of `kept_share`"""
    kept_share: float = 0.0
    """exact mass of the tokens kept, minus that of the exact result; the largest in size"""


class AccuracyResult(Strict):
    """A sampler on rows of one size, on every backend."""

    kind: Literal["accuracy"] = "accuracy"
    id: str
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    sampler: str
    """the sampler"""
    n_vocab: int
    """tokens of the vocabulary"""
    rows: int
    """number of rows"""
    backends: dict[str, AccuracyOnBackend]

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply."""
        crashed = AccuracyOnBackend(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})
