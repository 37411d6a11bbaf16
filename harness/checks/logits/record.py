"""The logits of a prompt on every backend's device: one line of JSON."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class LogitsFigures(Strict):
    """What a backend's device computed for a prompt, beside the first backend's.

    failed: why there are no logits, or "". sha256: of all of them, float32, row by row. difference:
    the largest of two logits, absolute. kl_*: Kullback-Leibler divergence from the first, nats.
    top1: rows with the same most likely token. None where the first has no logits.
    """

    failed: str = ""
    sha256: str = ""
    difference: float | None = None
    kl_max: float | None = None
    kl_mean: float | None = None
    top1: int | None = None


class DecodeResult(Strict):
    """The logits after each of the `rows` tokens of a prompt, on every backend.

    prompt_sha256: of its tokens as int32. kept: the last row of each backend is in artifacts/.
    """

    kind: Literal["decode"] = "decode"
    id: str
    suite: str = ""
    model_sha256: str
    prompt_sha256: str
    rows: int
    first: str
    kept: bool
    backends: dict[str, LogitsFigures]

    def with_crash(self, backend: str, problem: str) -> Self:
        """The same where a backend crashed after its last reply."""
        crashed = LogitsFigures(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _has_the_first(self) -> "DecodeResult":
        if self.first not in self.backends:
            raise ValueError(f"first is {self.first!r}, of which there are no logits")
        return self
