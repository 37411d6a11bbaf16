"""gate.toml: the conditions for a release. docs/reference/policy.md describes it.

Rules of a kind are read from the top: the first one that fits a result judges it.
"""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from sampler_parity.harness.checks.distribution.record import CellKind, Decision
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.rows import every_gate, load
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import STRICT, mistake
from sampler_parity.harness.suite.ids import fits
from sampler_parity.harness.verdicts import ORDER, Accept, ServerVerdict, Verdict

# Patterns are those of a shell: * is anything, ? one character. A name fits itself, too.
Pattern = Annotated[str, Field(max_length=limits.ID)]
R = TypeVar("R")
Rules = Annotated[list[R], Field(max_length=limits.RULES)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(**STRICT, strict=True)


class GateRule(_Strict):
    """A rule of a policy. relative: whether it compares with the baseline bundle."""

    relative: ClassVar[bool] = False
    at_least: int = Field(default=1, ge=0)
    """how many results the rule must judge; 0: any number"""

    @property
    def name(self) -> str:
        raise NotImplementedError

    def fits(self, *pairs: tuple[str, Pattern]) -> bool:
        return all(fits(value, pattern) for value, pattern in pairs)


class ResultRule(GateRule):
    """Results of a kind of check whose rules need no more."""

    result: Pattern = "*"
    """pattern of the result"""

    @property
    def name(self) -> str:
        return rule_name("results", self.result)


class ParityRule(GateRule):
    """Verdicts of cases."""

    backend: Pattern = "*"
    sampler: Pattern = "*"
    case: Pattern = "*"
    verdicts: list[Verdict] = []
    """verdicts that pass; default: those that the case requires and `accept` adds"""

    @property
    def name(self) -> str:
        return rule_name("parity", self.backend, self.sampler, self.case)


class NotWorseRule(GateRule):
    """No verdict is worse than that of the same case and backend in the baseline bundle."""

    relative: ClassVar[bool] = True
    backend: Pattern = "*"
    sampler: Pattern = "*"
    case: Pattern = "*"

    @property
    def name(self) -> str:
        return rule_name("not_worse", self.backend, self.sampler, self.case)


class DistributionRule(GateRule):
    """Distribution tests."""

    backend: Pattern = "*"
    cell: Pattern = "*"
    """pattern of the test"""
    kind: CellKind | Literal["*"] = "*"
    """kind of the test"""
    margin: float | None = Field(default=None, gt=0, lt=1)
    """the bounded quantity must stay below this; default: the decision of the test itself"""

    @property
    def name(self) -> str:
        return rule_name("distribution", self.backend, self.kind, self.cell)


class SpeedRule(GateRule):
    """A limit of the time, compared with another backend."""

    backend: Pattern = "*"
    baseline: str | None = Field(default=None, min_length=1)
    """a backend of the same run"""
    anchor: str | None = Field(default=None, min_length=1)
    """a backend that this run and the baseline bundle timed; both ratios are compared"""
    chain: Pattern = "*"
    """pattern of the timed chain"""
    max_ratio: float = Field(gt=0)
    """largest ratio of the times that passes"""
    confidence: float = Field(default=0.99, ge=0.5, lt=1)
    """confidence of the interval"""

    @model_validator(mode="after")
    def _one_of_both(self) -> "SpeedRule":
        if (self.baseline is None) == (self.anchor is None):
            raise ValueError("needs either baseline (a backend of the same run) or anchor")
        return self

    @property
    def name(self) -> str:
        return rule_name("speed", self.backend, self.chain)


class SkipRatioRule(GateRule):
    """Savings of a token trie. The checks of the suite must hold, too."""

    backend: Pattern = "*"
    workload: Pattern = "*"
    """pattern of the workload"""
    min_skip_ratio: float = Field(ge=0, le=1)
    """smallest mean skip ratio that passes"""

    @property
    def name(self) -> str:
        return rule_name("skip_ratio", self.backend, self.workload)


class Allowed(_Strict):
    """A known divergence: reason, owner and end date."""

    case: Pattern = Field(default="*", min_length=1)
    """pattern of a case, a distribution test or a server's result"""
    finding: Pattern = ""
    """pattern of an [id](verdicts.md#ids-of-findings) of a case's finding, needed if not `case`"""
    backend: Pattern = Field(min_length=1)
    """pattern of a backend or server"""
    outcomes: list[Verdict | Decision | ServerVerdict] = Field(min_length=1)
    """verdicts or decisions that pass"""
    reason: str = Field(min_length=1, pattern=r"\S")
    """why it is tolerated"""
    issue: str = Field(min_length=1, pattern=r"\S")
    """link or number of its issue"""
    owner: str = ""
    """who resolves it"""
    expires: date
    """last day on which it passes"""

    @property
    def followed_in(self) -> str:
        """Return the issue and the owner."""
        return f"{self.issue}, owner: {self.owner}" if self.owner else self.issue

    @model_validator(mode="after")
    def _names_something(self) -> "Allowed":
        if not self.finding and "case" not in self.model_fields_set:
            raise ValueError("needs case or finding")
        return self

    @property
    def target(self) -> str:
        return f"{self.finding or self.case} on {self.backend}"

    def covers(self, case: str, backend: str, outcome: str, id: str = "") -> bool:
        return (
            outcome in self.outcomes
            and fits(case, self.case)
            and fits(backend, self.backend)
            and (not self.finding or (id != "" and fits(id, self.finding)))
        )


class Subject(_Strict):
    """The thing that is released, and the run that it needs."""

    name: str = Field(min_length=1, pattern=r"\S")
    """its name and version, for the statement"""
    backends: list[Pattern] = Field(min_length=1)
    """patterns of backends or servers; each must fit one that ran"""
    sha256: list[Sha256] = []
    """of files that were judged: each is a file, the digest or a library of such a backend"""
    reference: str = ""
    """release that they are judged by; empty: any"""
    platform: str = ""
    """architecture of the machine of the run, for example `x86_64`; empty: any"""
    code: Sha256 | Literal["own", ""] = ""
    """digest of the harness that made the run; `own`: that of this gate; empty: any"""
    sandbox: bool = False
    """they ran in a sandbox"""
    max_age_days: int | None = Field(default=None, ge=0)
    """largest age of the run"""


class Policy(_Strict):
    """A policy. `policy_model` adds the tables of rules."""

    schema_version: Literal[1]
    """version of this format"""
    subject: Subject | None = None
    """the thing that is released"""
    suites: list[Pattern] = []
    """patterns; each must fit a suite of the run"""
    profile: Literal["quick", "full"] = "quick"
    """`full` does not accept a quick run"""
    optional_backends: list[Pattern] = []
    """patterns of backends that may be missing"""
    partial: bool = False
    """also judge a run of single cases (`run --case`)"""
    accept: Accept = "identical"
    """verdicts that pass in addition to those that a case requires"""
    skipped: Literal["fail", "allow"] = "fail"
    """`allow`: skipped cases do not fail"""
    unused_allowances: Literal["say", "fail"] = "say"
    """`fail`: an unused `[[allow]]` entry fails"""
    allow: Rules[Allowed] = []
    """known divergences"""

    @model_validator(mode="after")
    def _has_a_rule(self) -> "Policy":
        if not any(self.rules(gate.table) for gate in every_gate()):
            raise ValueError("has no rule: nothing could fail")
        return self

    def rules(self, table: str) -> list[Any]:
        """Return the rules of a table, in the order of the file."""
        rules: list[Any] = getattr(self, table)
        return rules

    @property
    def needs_baseline(self) -> bool:
        rules = [rule for gate in every_gate() for rule in self.rules(gate.table)]
        return any(rule.relative or getattr(rule, "anchor", None) for rule in rules)

    def ignoring(self, ids: Sequence[str]) -> "Policy":
        """Return the policy that lets findings with these patterns of ids pass. Raises InputError
        for an empty pattern."""
        if "" in ids:
            raise InputError("--ignore", "is empty", "write a pattern of ids, like top_p/fewer")
        ignored = [
            Allowed(
                backend="*",
                finding=id,
                outcomes=[*ORDER],
                reason="ignored on the command line",
                issue="--ignore",
                expires=date.max,
            )
            for id in ids
        ]
        return self.model_copy(update={"allow": [*self.allow, *ignored]})

    def about(self, backends: list[str]) -> "Policy":
        """Return the policy for these backends, which must be in the bundle."""
        subject = self.subject or Subject(name=", ".join(backends), backends=backends)
        patterns = list(dict.fromkeys([*subject.backends, *backends]))
        return self.model_copy(
            update={"subject": subject.model_copy(update={"backends": patterns})}
        )


@dataclass(frozen=True)
class PolicyFile:
    path: str
    policy: Policy
    sha256: str


@functools.cache
def policy_model() -> type[Policy]:
    """Return the model of a policy with every table of rules."""
    fields: dict[str, Any] = {
        gate.table: (Rules[load(gate.rule)], Field([], description=gate.about))  # type: ignore[misc]
        for gate in every_gate()
    }
    return create_model("Policy", __base__=Policy, __module__=__name__, **fields)


def read_policy(path: Path | None) -> PolicyFile:
    """Read the policy of a file, or the default one. Raises InputError."""
    name = str(path) if path else "the default policy"
    source = path or Path(str(files("sampler_parity.harness.gate"))) / "default.toml"
    content = read_file(source, limits.TOML)
    data = toml_of(source, content)
    try:
        policy = policy_model().model_validate(data)
    except ValidationError as error:
        raise InputError(source, *_explained(error)) from None
    return PolicyFile(name, policy, hashlib.sha256(content).hexdigest())


def _explained(error: ValidationError) -> tuple[str, str]:
    """Return the problem, with its place in the file, and the fix of the first mistake."""
    _, location, reason, fix = mistake(error)
    field = place_of(location)
    return f"{field}: {reason}" if field else reason, fix or "see docs/reference/policy.md"


def place_of(location: tuple[int | str, ...]) -> str:
    """Format "parity[2].verdicts[1]" for ("parity", 1, "verdicts", 0), counted from 1."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        elif not text.endswith("]") or not part.startswith("literal["):  # pydantic's, of a union
            text += f".{part}" if text else part
    return text


def rule_name(kind: str, *patterns: str) -> str:
    """Format "parity.tsampler.top_p"; trailing * are left out."""
    parts = list(patterns)
    while parts and parts[-1] == "*":
        parts.pop()
    return ".".join([kind, *parts])
