"""The outcome of the gate: written by `gate --json`, described by
harness/schemas/gate.schema.json."""

from typing import Literal

from sampler_parity.harness.strict import Strict

State = Literal["met", "failed", "unjudged"]


class GateFinding(Strict):
    """A result that is not as the policy requires, or that cannot be judged.

    subject: the case, cell, chain or workload, and the backend. figure: the measured value. limit:
    the requirement of the policy. id: of the kind of difference, or "". `mend`: the
    fix, where one is known.
    """

    state: Literal["failed", "unjudged"]
    subject: str
    id: str = ""
    figure: str
    limit: str
    replay: str = ""
    mend: str = ""


class RuleOutcome(Strict):
    """A rule of the policy. judged: how many results it could judge. met: how many are as required.
    allowed: how many are not, but known and tolerated. skipped: how many did not run and need not;
    they are not judged."""

    rule: str
    place: str
    state: State
    judged: int
    met: int
    allowed: int = 0
    skipped: int = 0
    findings: list[GateFinding] = []


class AllowanceUse(Strict):
    """A known divergence of the policy. used: results that it let pass."""

    place: str
    case: str
    finding: str = ""
    backend: str
    reason: str
    issue: str
    owner: str = ""
    expires: str
    used: int


class GateResult(Strict):
    """exit_status: 0 pass, 1 fail, 2 could not judge. notes: further facts for a reader."""

    schema_version: Literal[1] = 1
    exit_status: Literal[0, 1, 2]
    bundle: str
    baseline: str
    policy: str
    policy_sha256: str
    judged_on: str
    rules: list[RuleOutcome]
    allowances: list[AllowanceUse]
    notes: list[str]


def state_of(findings: list[GateFinding]) -> State:
    """Return the worst state: a failure is worse than a missing judgement."""
    states = {finding.state for finding in findings}
    return "failed" if "failed" in states else "unjudged" if states else "met"
