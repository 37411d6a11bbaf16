"""gate.toml: what a bundle must show before a release goes out. docs/gate.md describes it.

Rules of a kind are read from the top: the first one that fits a result judges it.
"""

import hashlib
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sampler_parity.harness.checks.distribution.record import CellKind, Decision
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import STRICT, mistake
from sampler_parity.harness.suite.ids import fits
from sampler_parity.harness.verdicts import Accept, ServerVerdict, Verdict

# Patterns are those of a shell: * is anything, ? one character. A name fits itself, too.
Pattern = Annotated[str, Field(max_length=limits.ID)]


class _Strict(BaseModel):
    model_config = ConfigDict(**STRICT, strict=True)


class Rule(_Strict):
    """at_least: how many results the rule must be able to judge; 0: judge what there is."""

    at_least: int = Field(default=1, ge=0)

    @property
    def name(self) -> str:
        raise NotImplementedError

    def fits(self, *pairs: tuple[str, Pattern]) -> bool:
        return all(fits(value, pattern) for value, pattern in pairs)


class ParityRule(Rule):
    """verdicts: those that pass; none named: what the case requires and the policy accepts."""

    backend: Pattern = "*"
    sampler: Pattern = "*"
    case: Pattern = "*"
    verdicts: list[Verdict] = []

    @property
    def name(self) -> str:
        return _name("parity", self.backend, self.sampler, self.case)


class NotWorseRule(Rule):
    """No verdict is worse than that of the same case and backend in the baseline bundle."""

    backend: Pattern = "*"
    sampler: Pattern = "*"
    case: Pattern = "*"

    @property
    def name(self) -> str:
        return _name("not_worse", self.backend, self.sampler, self.case)


class DistributionRule(Rule):
    """margin: what the bounded quantity must stay below; without it the cell's own decision."""

    backend: Pattern = "*"
    cell: Pattern = "*"
    kind: CellKind | Literal["*"] = "*"
    margin: float | None = Field(default=None, gt=0, lt=1)

    @property
    def name(self) -> str:
        return _name("distribution", self.backend, self.kind, self.cell)


class SpeedRule(Rule):
    """max_ratio: of the time to that of `baseline`, a backend timed round by round in the same run.

    anchor: then the baseline bundle's `backend` is meant, and both are measured against this
    backend, which both bundles have timed. confidence: of the interval that must keep within.
    """

    backend: Pattern = "*"
    baseline: str | None = Field(default=None, min_length=1)
    anchor: str | None = Field(default=None, min_length=1)
    chain: Pattern = "*"
    max_ratio: float = Field(gt=0)
    confidence: float = Field(default=0.99, ge=0.5, lt=1)

    @model_validator(mode="after")
    def _one_of_both(self) -> "SpeedRule":
        if (self.baseline is None) == (self.anchor is None):
            raise ValueError("needs either baseline (a backend of the same run) or anchor")
        return self

    @property
    def name(self) -> str:
        return _name("speed", self.backend, self.chain)


class SkipRatioRule(Rule):
    """min_skip_ratio: of every workload that fits; what its suite checks must hold, too."""

    backend: Pattern = "*"
    workload: Pattern = "*"
    min_skip_ratio: float = Field(ge=0, le=1)

    @property
    def name(self) -> str:
        return _name("skip_ratio", self.backend, self.workload)


class ServerRule(Rule):
    """result: by its id, as parameter/top_k. verdicts: those that pass; none named: what the check
    requires, which for a server of ours may be a known verdict."""

    server: Pattern = "*"
    result: Pattern = "*"
    verdicts: list[ServerVerdict] = []

    @property
    def name(self) -> str:
        return _name("server", self.server, self.result)


class ServerNotWorseRule(Rule):
    """No verdict is worse than that of the same server's result in the baseline bundle."""

    server: Pattern = "*"
    result: Pattern = "*"

    @property
    def name(self) -> str:
        return _name("server_not_worse", self.server, self.result)


class Allowed(_Strict):
    """A divergence that is known: why it is tolerated, who owns it, and until when.

    case: of a parity case, a distribution cell or a server's result; backend: or the server.
    outcomes: the verdicts or decisions let pass.
    """

    case: Pattern = Field(min_length=1)
    backend: Pattern = Field(min_length=1)
    outcomes: list[Verdict | Decision | ServerVerdict] = Field(min_length=1)
    reason: str = Field(min_length=1, pattern=r"\S")
    issue: str = Field(min_length=1, pattern=r"\S")
    expires: date

    def covers(self, case: str, backend: str, outcome: str) -> bool:
        return outcome in self.outcomes and fits(case, self.case) and fits(backend, self.backend)


class Policy(_Strict):
    """suites: each pattern must fit a suite of the run. profile: full accepts no quick run.

    accept: what passes beside what a case requires, whatever the run accepted. skipped: allow, what
    a backend does not claim need not be judged.
    optional_backends: those that may be missing where they do not run. partial: whether a run of
    single cases (`run --case`) is judged. unused_allowances: fail, so that the list stays short.
    """

    schema_version: Literal[1]
    suites: list[Pattern] = []
    profile: Literal["quick", "full"] = "quick"
    optional_backends: list[Pattern] = []
    partial: bool = False
    accept: Accept = "identical"
    skipped: Literal["fail", "allow"] = "fail"
    unused_allowances: Literal["say", "fail"] = "say"
    parity: list[ParityRule] = []
    not_worse: list[NotWorseRule] = []
    distribution: list[DistributionRule] = []
    speed: list[SpeedRule] = []
    skip_ratio: list[SkipRatioRule] = []
    server: list[ServerRule] = []
    server_not_worse: list[ServerNotWorseRule] = []
    allow: list[Allowed] = []

    @model_validator(mode="after")
    def _has_a_rule(self) -> "Policy":
        rules = (self.parity, self.not_worse, self.distribution, self.speed, self.skip_ratio)
        if not any((*rules, self.server, self.server_not_worse)):
            raise ValueError("has no rule: nothing could fail")
        return self

    @property
    def needs_baseline(self) -> bool:
        relative = bool(self.not_worse or self.server_not_worse)
        return relative or any(rule.anchor is not None for rule in self.speed)


@dataclass(frozen=True)
class PolicyFile:
    path: str
    policy: Policy
    sha256: str


def read_policy(path: Path | None) -> PolicyFile:
    """Read the policy of a file, or the default one. Raises InputError."""
    shown = str(path) if path else "the default policy"
    source = path or Path(str(files("sampler_parity.harness.gate"))) / "default.toml"
    content = read_file(source, limits.TOML)
    data = toml_of(source, content)
    try:
        policy = Policy.model_validate(data)
    except ValidationError as error:
        raise InputError(source, *_explained(error)) from None
    return PolicyFile(shown, policy, hashlib.sha256(content).hexdigest())


def _explained(error: ValidationError) -> tuple[str, str]:
    """Return the problem, with its place in the file, and the fix of the first mistake."""
    _, location, reason, fix = mistake(error)
    place = place_of(location)
    return f"{place}: {reason}" if place else reason, fix or "see docs/gate.md"


def place_of(location: tuple[int | str, ...]) -> str:
    """Format "parity[2].verdicts[1]" for ("parity", 1, "verdicts", 0), counted from 1."""
    place = ""
    for part in location:
        if isinstance(part, int):
            place += f"[{part + 1}]"
        elif not place.endswith("]") or not _inside_union(part):
            place += f".{part}" if place else part
    return place


def _inside_union(part: str) -> bool:
    """Tell whether pydantic added a part for a member of a union: it is no part of the file."""
    return part.startswith("literal[")


def _name(kind: str, *patterns: str) -> str:
    """Format "parity.tsampler.top_p"; trailing * are left out."""
    parts = list(patterns)
    while parts and parts[-1] == "*":
        parts.pop()
    return ".".join([kind, *parts])
