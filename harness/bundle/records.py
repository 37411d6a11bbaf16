"""The lines of a bundle: one model for each kind of result.

A parity case on every backend, the changes between releases, minimized cases, predictions, and the
self-check of timings.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from sampler_parity.harness.sanitize.limits import shallow
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Accept, Verdict, passing

NOT_RUN = "not run: "  # begins the detail of a backend that is not asked any more


class Result(Strict):
    """The record of something that ran."""

    kind: str
    id: str

    @property
    def unasked(self) -> bool:
        """Whether a backend was stopped before it was asked, so that `--resume` runs the item."""
        backends = getattr(self, "backends", {}).values()
        return any(outcome_of(got)[1].startswith(NOT_RUN) for got in backends)

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply. Results without a field
        `failed` have a method of their own."""
        backends: dict[str, Any] = getattr(self, "backends")  # noqa: B009
        crashed = type(backends[backend])(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": backends | {backend: crashed}})


def outcome_of(got: Any) -> tuple[str, str]:
    """Return the verdict of a backend, in a record of any kind, and its detail."""
    verdict, _, detail = getattr(got, "failed", "").partition(": ")
    verdict = getattr(got, "verdict", getattr(got, "decision", verdict))
    return verdict, getattr(got, "detail", detail)


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
        chain = f"   {', '.join(result.samplers)}: {got.detail}" if got.verdict == "timeout" else ""
        yield f"{got.verdict.upper()} {result.id}   {name}{chain}"


class ChangeResult(Result):
    """A change between releases, shown on the newest backend with the old meaning."""

    kind: Literal["change"] = "change"
    samplers: list[str]
    last_old: str
    """last release with the old meaning"""
    first_new: str
    """first release with the new meaning"""
    old: str
    """the old meaning"""
    new: str
    """the new meaning"""
    cases: dict[str, int]
    """number of cases that need the old meaning, by backend"""
    backend: str = ""
    """backend of the smallest case"""
    suite: str = ""
    case: str = ""
    """the smallest case that needs the old meaning alone"""
    counterexample: dict[str, Any] | None = None
    result: BackendResult | None = None
    """how the backend differs there from the newest meaning"""


class Known(Strict):
    """A planted fault that gives exactly what the backend gives on the small case. explains: in how
    many of `tried` cases of the group it differs as the backend does, to the value."""

    name: str
    """name of the fault"""
    fault: str
    """the change that it makes"""
    explains: int
    """in how many cases it differs like the backend"""
    tried: int
    """how many cases were tried"""


class CounterexampleResult(Result):
    """A minimized failure."""

    kind: Literal["counterexample"] = "counterexample"
    case: str
    """id of the case"""
    backend: str
    """the backend that fails"""
    smaller: Annotated[dict[str, Any] | None, AfterValidator(shallow)] = None
    """the minimized case; null: none was found"""
    result: BackendResult | None = None
    """result of the minimized case"""
    got: list[int] = []
    """ids that the backend left at the stage that differs"""
    expected: list[int] = []
    """ids that the reference left"""
    said: str = ""
    """why there is no minimized case"""
    known: list[Known] = []
    """planted faults with the same effect"""


class Apart(Strict):
    """A case on a platform whose bits differ from this machine's."""

    order: bool
    """whether the order of the tokens is the same"""
    survivors: bool
    """whether the survivors are the same"""
    tokens: bool | None
    """whether all drawn tokens are the same; null: none is drawn"""
    token: int | None
    """first step with another token"""
    step: int
    """first step that differs"""
    stage: int
    """first stage that differs"""
    sampler: str
    """sampler of that stage"""
    what: str
    """quantity that differs"""
    here: str
    """value on this machine"""
    there: str
    """value on the platform"""
    operations: list[str]
    """operations of the platform that cause it on their own"""


class PredictionResult(Result):
    """A case on all platforms."""

    kind: Literal["prediction"] = "prediction"
    suite: str
    samplers: list[str]
    draws: bool
    """whether the case draws tokens that could differ"""
    platforms: list[str]
    """the platforms"""
    apart: dict[str, Apart]
    """platforms with other bits"""


class PartingResult(Result):
    """A minimized case for the operations of a sampler."""

    kind: Literal["parting"] = "parting"
    case: str
    """id of the case"""
    sampler: str
    """the sampler"""
    operations: list[str]
    """the operations"""
    smaller: Annotated[dict[str, Any], AfterValidator(shallow)]
    """the minimized case"""
    platforms: dict[str, Apart]
    """platforms that differ in this way"""


class DetectionCurve(Strict):
    """A slow-down (0 for A/A) by number of rounds. slower, faster, inconclusive: how many of
    `trials` had this verdict. off_one: how often the interval left 1 out. seconds: a comparison's
    median time of samples and their set-up: ours, the baseline, and the baseline again."""

    percent: float
    """the slow-down; 0 is A/A"""
    rounds: list[int]
    """numbers of rounds"""
    seconds: list[float]
    """median seconds of a comparison"""
    slower: list[int]
    """how many trials were called slower"""
    faster: list[int]
    """how many trials were called faster"""
    inconclusive: list[int]
    """how many trials were inconclusive"""
    off_one: list[int]
    """how often the interval left out 1"""
    trials: int
    """number of trials"""

    @model_validator(mode="after")
    def _is_a_curve(self) -> "DetectionCurve":
        columns = (self.seconds, self.slower, self.faster, self.inconclusive, self.off_one)
        if any(len(column) != len(self.rounds) for column in columns) or self.trials < 1:
            raise ValueError("all lists must be as long as rounds, and trials at least 1")
        return self


class TimingCheckResult(Result):
    """effect: the smallest share that a verdict calls slower. alarm_rate: the stated rate of A/A.

    noise: of each trial, at most rounds. met: the alarms at every number of rounds are within the
    stated rate.
    """

    kind: Literal["timing_check"] = "timing_check"
    id: Literal["timing_check"] = "timing_check"
    chain: str
    """the timed chain"""
    n_vocab: int
    effect: float
    """smallest share that a verdict calls slower"""
    alarm_rate: float
    """stated rate of false alarms"""
    curves: list[DetectionCurve]
    """one curve for each slow-down"""
    noise: list[float]
    """noise of each trial, at the largest number of rounds"""
    met: bool
    """whether false alarms stay within the stated rate"""
    seed: int
    wall_s: float
