"""A parity case on every backend: one line of JSON."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.sanitize.data import shallow
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Accept, Verdict, passing

Shallow = Annotated[dict[str, Any], AfterValidator(shallow)]


class Parted(Strict):
    """The first difference of a generation from that of the run's first backend; up to there they
    are equal.

    token, first_token: the tokens drawn at `step`. margin: by how much the first's logits prefer
    its own token. difference: the largest absolute difference of the logits of that step. None if
    these are not finite.
    """

    step: int
    """first step with another token"""
    token: int
    """token of this backend"""
    first_token: int
    """token of the first backend"""
    margin: float | None
    """difference of the first backend's logits of the two tokens"""
    difference: float | None
    """largest absolute difference of the logits of the step"""


class LiveRow(Strict):
    """A row of a batch, by its place in that step, and how many were live."""

    at: int
    """place of the row in that step"""
    of: int
    """number of live rows"""


class BackendResult(Strict):
    """A case on one backend. step, stage, what and values describe the first difference; row: that
    of a batch.

    changes: the old behaviours that the reference needs to be identical to a backend judged by its
    own release (harness/failures/drift.py); None if it was judged otherwise, or is not identical.
    text_sha256: of the tokens of a generation, as int32. parted: where it leaves that of the first
    backend; None if it does not. asked: the number of answers with each verdict, if it was asked
    more than once. ties: in addition to its verdict, it decides otherwise between equal ones.
    """

    verdict: Verdict
    """the verdict"""
    ns: int = 0
    wall_s: float = 0.0
    step: int | None = None
    """first step that differs"""
    stage: str = ""
    """first stage that differs"""
    stage_index: int | None = None
    """position of the stage in the chain"""
    what: str = ""
    """quantity that differs"""
    values: Shallow = {}
    """values at that place"""
    detail: str = ""
    """message"""
    changes: list[str] | None = None
    """old meanings that the reference needs to be identical to this release"""
    text_sha256: str = ""
    parted: Parted | None = None
    """first difference of a generation from the first backend's"""
    asked: dict[Verdict, int] = {}
    """number of runs by verdict, with `--repeat`"""
    ties: bool = False
    """equal tokens are also selected differently"""
    row: LiveRow | None = None
    """row of a batch that differs"""
    late: int = 0
    """with `--accept correct`: cuts that remove fewer tokens than the exact sums would"""
    early: int = 0
    """with `--accept correct`: cuts that remove more tokens than the exact sums would"""
    fits: list[str] | None = None
    """with `--accept correct`, for some cases: narrower arithmetics that explain the result, too"""

    def among(self, verdicts: Sequence[Verdict]) -> bool:
        """Return whether it passes with these verdicts; with ties, "tied" must be among them."""
        return self.verdict in verdicts and (not self.ties or "tied" in verdicts)


class CaseResult(Result):
    """A case on every backend."""

    kind: Literal["case"] = "case"
    id: str
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    samplers: list[str]
    steps: int
    """steps of the case"""
    draws: int = 0
    """draws of the case"""
    reference_s: float = 0.0
    """seconds of the reference, in the run that computed its result: that may be an earlier one"""
    refusal: str = ""
    """why the reference stopped early"""
    unmet: str = ""
    """expectation of the case that the reference missed"""
    why: str = ""
    """for a failed case: the defect that it catches"""
    backends: dict[str, BackendResult]
    required: dict[str, list[Verdict]]
    accept: Accept = "identical"
    """verdicts that the run accepted in addition (`run --accept`)"""
    counterexample: Shallow | None = None

    @model_validator(mode="after")
    def _something_is_required_of_each(self) -> "CaseResult":
        if unruled := self.backends.keys() - self.required.keys():
            raise ValueError(f"backend {min(unruled)} has no required verdict")
        return self

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply."""
        wall_s = self.backends[backend].wall_s
        crashed = BackendResult(verdict="crashed", detail=problem, wall_s=wall_s)
        return self.model_copy(update={"backends": self.backends | {backend: crashed}})

    def passing(self, backend: str) -> list[Verdict]:
        """Return the verdicts that pass on this backend."""
        return passing(self.required[backend], self.accept)

    def met(self, backend: str) -> bool:
        """Return whether this backend met the case's requirements. A case without a step is not
        met."""
        return (
            self.backends[backend].among(self.passing(backend))
            and not self.unmet
            and not self.refusal
            and self.steps > 0
        )

    def skipped(self, backend: str) -> bool:
        """Return whether this backend was not asked: neither met nor failed."""
        return self.backends[backend].verdict == "skipped"

    def failed(self, backend: str) -> bool:
        return not self.skipped(backend) and not self.met(backend)

    @property
    def judged(self) -> bool:
        """Whether any backend was asked."""
        return not all(self.skipped(name) for name in self.backends)

    @property
    def ok(self) -> bool:
        """Whether no backend failed; `judged` is whether any was asked."""
        return not any(self.failed(name) for name in self.backends)


def lines(result: CaseResult) -> Iterator[str]:
    """Yield a line for each backend, its verdict first."""
    for name, got in result.backends.items():
        yield f"{got.verdict.upper()} {result.id}   {name}"
