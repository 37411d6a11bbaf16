"""The distance of a sampler's results from exact ones: one line of JSON."""

from typing import Literal, Self

from sampler_parity.harness.strict import Strict


class Ulps(Strict):
    """Errors in ULPs of float32: |value - exact value| / ULP of the exact value."""

    median: float
    """median error"""
    largest: float
    """largest error"""


class AccuracyFigures(Strict):
    """The errors of a backend over all rows, as harness/correct/accuracy.py defines them."""

    p: Ulps
    """errors of p"""
    mass: Ulps
    """errors of the running sums of p"""
    mass_share: float
    """largest error of a running sum, as a share of the whole mass"""
    kept_tokens: int
    """in the row with the largest `kept_share`: tokens kept, minus those of the exact result"""
    kept_share: float
    """exact mass of the tokens kept, minus that of the exact result; the largest in size"""


class AccuracyOnBackend(Strict):
    """The figures of one backend, or the reason why there are none."""

    failed: str = ""
    figures: AccuracyFigures | None = None
    """the errors"""


class AccuracyResult(Strict):
    """A sampler on rows of one size, on every backend."""

    kind: Literal["accuracy"] = "accuracy"
    id: str
    suite: str = ""
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
