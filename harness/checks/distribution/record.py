"""What a run of distribution tests records: one line of JSON a cell."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.strict import Strict

Decision = Literal[
    "equivalent",
    "different",
    "undecided",
    "skipped",
    "unsupported",
    "rejected",
    "crashed",
    "timeout",
]
CellKind = Literal["frequency", "coupled", "tail", "independence", "injected", "speculative"]


class CellOnBackend(Strict):
    """estimate, low, high: of the quantity that the cell bounds, at its alpha.
    docs/background/statistics.md has the definitions.

    p_value: corrected for the tests within the cell; tests: each of them, corrected for nothing.
    decision: before Holm's correction over the run, see `decisions`.
    """

    decision: Decision
    draws: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    tests: dict[str, float] = {}
    detail: str = ""
    ns: int = 0
    wall_s: float = 0.0


class DistributionResult(Strict):
    """A cell on every backend. bins: 0 where it bounds all tokens. smallest_caught: the smallest
    value of the bounded quantity that the planned draws catch, with probability 1 - beta."""

    kind: Literal["distribution"] = "distribution"
    id: str
    suite: str = ""
    what: CellKind
    samplers: list[str]
    n_vocab: int
    bins: int = 0
    margin: float | None = None
    alpha: float
    beta: float
    planned: int
    smallest_caught: float | None = None
    refusal: str = ""
    backends: dict[str, CellOnBackend]
    required: dict[str, list[Decision]]

    def with_crash(self, backend: str, problem: str) -> Self:
        """The same where a backend crashed after its last reply."""
        crashed = CellOnBackend(decision="crashed", detail=problem)
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _something_is_required_of_each(self) -> "DistributionResult":
        if unruled := self.backends.keys() - self.required.keys():
            raise ValueError(f"backend {min(unruled)} has no required decision")
        return self
