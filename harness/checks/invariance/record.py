"""How far the logits of a sequence in a batch are from those alone: one line of JSON."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class WidthFigures(Strict):
    """Of so many sequences at once. rows: of logits that were compared; equal: to the bit.
    difference: the largest of two logits, absolute. kl_*: Kullback-Leibler divergence from the
    sequence alone, nats. top1: rows with the same most likely token."""

    width: int
    rows: int
    equal: int
    difference: float
    kl_max: float
    kl_mean: float
    top1: int


class InvarianceOnBackend(Strict):
    """failed: why there are no figures, or "". widths: in rising order; width 1 is the same text
    alone once more."""

    failed: str = ""
    widths: list[WidthFigures] = []


class InvarianceResult(Strict):
    """`texts` texts of `tokens` tokens each, decoded alone and so many at once, on every backend.

    texts_sha256: of all tokens as int32.
    """

    kind: Literal["invariance"] = "invariance"
    id: str
    suite: str = ""
    model_sha256: str
    texts_sha256: str
    texts: int
    tokens: int
    backends: dict[str, InvarianceOnBackend]

    def with_crash(self, backend: str, problem: str) -> Self:
        """The same where a backend crashed after its last reply."""
        crashed = InvarianceOnBackend(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _counts_fit(self) -> "InvarianceResult":
        for figures in (f for b in self.backends.values() for f in b.widths):
            if not max(figures.equal, figures.top1) <= figures.rows:
                raise ValueError(f"width {figures.width} has more rows that agree than rows")
        return self
