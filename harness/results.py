"""What a run records: one line of JSON a case, and what the run was made with and on."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.verdicts import Verdict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BackendResult(_Record):
    """A case on one backend. step, stage, what and values place the first difference."""

    verdict: Verdict
    ns: int = 0
    wall_s: float = 0.0
    step: int | None = None
    stage: str = ""
    stage_index: int | None = None
    what: str = ""
    values: dict[str, Any] = {}
    detail: str = ""


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


class TimingResult(_Record):
    """Interleaved timings of one chain: nanoseconds of every repetition, by backend.

    repetitions: samples a round; those of round i are ns[i * repetitions : (i + 1) * repetitions].
    """

    kind: Literal["timing"] = "timing"
    id: str
    sampler: str
    n_vocab: int
    repetitions: int = Field(default=1, ge=1)
    ns: dict[str, list[int]]


class Header(_Record):
    kind: Literal["header"] = "header"
    format: Literal[1] = 1


class Footer(_Record):
    """The last line of a finished run; a bundle without it is unfinished."""

    kind: Literal["footer"] = "footer"
    cases: int
    steps: int
    wall_s: float
    cells: int = 0


class BackendInfo(_Record):
    command: list[str]
    name: str = ""
    version: str = ""
    build: str = ""
    device: str = ""
    capabilities: list[str] = []
    unavailable: str = ""


class Machine(_Record):
    system: str
    machine: str
    cpu: str
    cpu_flags: list[str]
    cores: int
    memory_bytes: int
    libc: str
    python: str
    packages: dict[str, str]


class RunInfo(_Record):
    """run.json: what was run, with what, on what, when."""

    format: Literal[1] = 1
    version: str
    started: str
    command: list[str]
    suites: dict[str, str]
    profile: str
    seed: int
    backends: dict[str, BackendInfo]
    machine: Machine
