"""What a run records: one line of JSON a case, and what the run was made with and on."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sampler_parity.harness.verdicts import Verdict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Parted(_Record):
    """Where a generation leaves that of the run's first backend; up to there the texts are equal.

    token, first_token: what each drew at `step`. margin: by how much the first's logits prefer its
    own token. difference: the largest absolute difference of the logits of that step. None where
    these are not finite.
    """

    step: int
    token: int
    first_token: int
    margin: float | None
    difference: float | None


class BackendResult(_Record):
    """A case on one backend. step, stage, what and values place the first difference.

    changes: where the backend was judged by its own release, the old meanings that the reference
    needs to be identical to it (harness/parity/releases/drift.py); None where it was not, or is not
    identical. text_sha256: of the tokens of a generation, as int32. parted: where it leaves that of
    the first backend; None where it does not.
    """

    verdict: Verdict
    ns: int = 0
    wall_s: float = 0.0
    step: int | None = None
    stage: str = ""
    stage_index: int | None = None
    what: str = ""
    values: dict[str, Any] = {}
    detail: str = ""
    changes: list[str] | None = None
    text_sha256: str = ""
    parted: Parted | None = None


class CaseResult(_Record):
    """refusal: why the reference stopped early. unmet: which published expectation it missed."""

    kind: Literal["case"] = "case"
    id: str
    suite: str = ""
    samplers: list[str]
    steps: int
    draws: int = 0
    reference_s: float = 0.0
    refusal: str = ""
    unmet: str = ""
    backends: dict[str, BackendResult]
    required: dict[str, list[Verdict]]
    counterexample: dict[str, Any] | None = None

    def met(self, backend: str) -> bool:
        """Whether this backend met what the case requires. A case without a step is not met."""
        return (
            self.backends[backend].verdict in self.required[backend]
            and not self.unmet
            and not self.refusal
            and self.steps > 0
        )

    @property
    def ok(self) -> bool:
        return all(self.met(name) for name in self.backends)


class Conditions(_Record):
    """What a timing was taken under. cpu: the one that all backends were pinned to; mhz: its
    frequency before each round. Where there is none, unpinned and no_mhz say why. load: programs
    that wanted to run, the average of a minute, for each processor; None: not known."""

    cpu: int | None = None
    load: float | None = None
    unpinned: str = ""
    mhz: list[float] = []
    no_mhz: str = ""


class TimingResult(_Record):
    """Interleaved timings of one chain: nanoseconds of every repetition, by backend.

    repetitions: samples a round; those of round i are ns[i * repetitions : (i + 1) * repetitions].
    baseline: the backend that the others are compared with; again: a second process of it, timed
    in the same rounds (harness/timing/verdict.py takes the noise from them). setup_ns: making the
    candidates, which is not in ns. failed: why a backend has no samples.
    group, last_n, masked: a point of one cost over n_vocab and last_n (harness/timing/slopes.py).
    steady: what the cost of this group must not depend on.
    instructions: of one application, by backend; uncounted: why there are none.
    """

    kind: Literal["timing"] = "timing"
    id: str
    suite: str = ""
    sampler: str
    n_vocab: int
    repetitions: int = Field(default=1, ge=1)
    ns: dict[str, list[int]]
    baseline: str = ""
    again: list[int] = []
    setup_ns: dict[str, list[int]] = {}
    failed: dict[str, str] = {}
    group: str = ""
    last_n: int = 0
    masked: float = 0.0
    steady: list[Literal["n_vocab", "last_n"]] = []
    instructions: dict[str, int] = {}
    uncounted: dict[str, str] = {}
    conditions: Conditions = Conditions()


class LogitsFigures(_Record):
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


class DecodeResult(_Record):
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


class ChangeResult(_Record):
    """A change between releases, as this run shows it: on the newest backend with the old meaning.

    cases: by backend, in how many cases the old meaning is needed. counterexample: the smallest
    case found where it alone is needed, and result how the backend differs there from the newest.
    """

    kind: Literal["change"] = "change"
    id: str
    samplers: list[str]
    last_old: str
    first_new: str
    old: str
    new: str
    cases: dict[str, int]
    backend: str = ""
    suite: str = ""
    case: str = ""
    counterexample: dict[str, Any] | None = None
    result: BackendResult | None = None


class Header(_Record):
    kind: Literal["header"] = "header"
    format: Literal[1] = 1


class Footer(_Record):
    """The last line of a finished run; a bundle without it is unfinished. records: how many of
    each kind there are; empty in bundles of older versions."""

    kind: Literal["footer"] = "footer"
    cases: int
    steps: int
    wall_s: float
    cells: int = 0
    skip_ratios: int = 0
    records: dict[str, int] = {}


class BackendInfo(_Record):
    command: list[str]
    name: str = ""
    version: str = ""
    build: str = ""
    device: str = ""
    capabilities: list[str] = []
    unavailable: str = ""
    reference: str = Field(default="v0.5.0", description="the release that it is judged by")


class Machine(_Record):
    """libm: the file that is loaded, with the start of its digest. driver: of an NVIDIA GPU."""

    system: str
    machine: str
    cpu: str
    cpu_flags: list[str]
    cores: int
    memory_bytes: int
    libc: str
    libm: str = ""
    driver: str = ""
    python: str
    packages: dict[str, str]


class RunInfo(_Record):
    """run.json: what was run, with what, on what, when. only: the cases that it was limited to."""

    format: Literal[1] = 1
    version: str
    started: str
    command: list[str]
    suites: dict[str, str]
    profile: str
    seed: int
    only: list[str] = []
    backends: dict[str, BackendInfo]
    machine: Machine
