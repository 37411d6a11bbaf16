"""The logits of a prompt on every backend's device: one line of JSON."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class LogitsFigures(Strict):
    """Logits of a backend, compared with the first backend's. Null: the first has none."""

    failed: str = ""
    sha256: str = ""
    """SHA-256 of all logits, float32, row by row"""
    difference: float | None = None
    """largest absolute difference of two logits"""
    kl_max: float | None = None
    """largest Kullback-Leibler divergence from the first backend, nats"""
    kl_mean: float | None = None
    """mean Kullback-Leibler divergence from the first backend, nats"""
    top1: int | None = None
    """rows with the same most likely token"""


class DecodeResult(Strict):
    """The logits of a prompt on every backend."""

    kind: Literal["decode"] = "decode"
    id: str
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    model_sha256: str
    prompt_sha256: str
    """SHA-256 of the prompt's tokens as int32"""
    rows: int
    """number of rows"""
    first: str
    """backend that the others are compared with"""
    kept: bool
    """whether artifacts/ has the last row of each backend"""
    backends: dict[str, LogitsFigures]

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply."""
        crashed = LogitsFigures(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _has_the_first(self) -> "DecodeResult":
        if self.first not in self.backends:
            raise ValueError(f"first is {self.first!r}, of which there are no logits")
        return self
