"""The record of distribution tests: one line of JSON for each cell."""

from typing import Literal, Self

from pydantic import model_validator

from sampler_parity.harness.bundle.records import Result
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

    p_value: corrected for the tests within the cell; tests: each of them, without correction.
    decision: before Holm's correction over the run, see `decisions`.
    """

    decision: Decision
    """the decision, before Holm's correction over the run"""
    draws: int = 0
    """number of draws"""
    estimate: float | None = None
    """estimate of the bounded quantity"""
    low: float | None = None
    """lower bound of the quantity"""
    high: float | None = None
    """upper bound of the quantity"""
    p_value: float = 1.0
    """p-value, corrected for the tests of the cell"""
    tests: dict[str, float] = {}
    """p-value of each test, not corrected"""
    detail: str = ""
    """message"""
    ns: int = 0
    wall_s: float = 0.0


class DistributionResult(Result):
    """A distribution test on every backend."""

    kind: Literal["distribution"] = "distribution"
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    what: CellKind
    """kind of the test"""
    samplers: list[str]
    n_vocab: int
    bins: int = 0
    """number of bins; 0: all tokens"""
    margin: float | None = None
    """margin of the bounded quantity"""
    alpha: float
    """chance to reject a correct sampler"""
    beta: float
    """chance to miss the smallest difference"""
    planned: int
    """planned number of draws"""
    smallest_caught: float | None = None
    """smallest difference that these draws catch, with probability 1 - beta"""
    refusal: str = ""
    """why the reference refused"""
    backends: dict[str, CellOnBackend]
    required: dict[str, list[Decision]]

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply."""
        crashed = CellOnBackend(decision="crashed", detail=problem)
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    @model_validator(mode="after")
    def _something_is_required_of_each(self) -> "DistributionResult":
        if unruled := self.backends.keys() - self.required.keys():
            raise ValueError(f"backend {min(unruled)} has no required decision")
        return self
