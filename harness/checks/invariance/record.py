"""The distance between the logits of a sequence in a batch and alone: one line of JSON."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class WidthFigures(Strict):
    """The figures of a batch width. rows: of logits that were compared; equal: to the bit.
    difference: the largest of two logits, absolute. kl_*: Kullback-Leibler divergence from the
    sequence alone, nats. top1: rows with the same most likely token.
    """

    width: int
    """texts at once"""
    rows: int
    """rows of logits that were compared"""
    equal: int
    """rows that are equal to the bit"""
    difference: float
    """largest absolute difference of two logits"""
    kl_max: float
    """largest Kullback-Leibler divergence from the text alone, nats"""
    kl_mean: float
    """mean Kullback-Leibler divergence from the text alone, nats"""
    top1: int
    """rows with the same most likely token"""


class InvarianceOnBackend(Strict):
    """The figures of one backend."""

    failed: str = ""
    widths: list[WidthFigures] = []
    """figures by width, rising; width 1 is the same text alone again"""


class InvarianceResult(Strict):
    """Texts decoded on their own and in batches, on every backend."""

    kind: Literal["invariance"] = "invariance"
    id: str
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    model_sha256: str
    texts_sha256: str
    """SHA-256 of all tokens as int32"""
    texts: int
    """number of texts"""
    tokens: int
    """tokens of each text"""
    backends: dict[str, InvarianceOnBackend]

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply."""
        crashed = InvarianceOnBackend(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _counts_fit(self) -> "InvarianceResult":
        for figures in (f for b in self.backends.values() for f in b.widths):
            if not max(figures.equal, figures.top1) <= figures.rows:
                raise ValueError(f"width {figures.width} has more rows that agree than rows")
        return self
