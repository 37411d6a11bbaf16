"""What the gate says: written by `gate --json`, described by harness/schemas/gate.schema.json."""

from typing import Literal

from sampler_parity.harness.strict import Strict

State = Literal["met", "failed", "unjudged"]


class Finding(Strict):
    """Something that is not as the policy asks, or that cannot be judged.

    subject: the case, cell, chain or workload, and the backend. figure: what was found; limit: what
    the policy asks. mend: what to do where there is nothing to replay.
    """

    state: Literal["failed", "unjudged"]
    subject: str
    figure: str
    limit: str
    replay: str = ""
    mend: str = ""


class RuleOutcome(Strict):
    """A rule of the policy. judged: how many results it could say something about; met: so many are
    as it asks, allowed: so many are not, but known and tolerated. skipped: so many were not
    asked, and need not be: they are not judged."""

    rule: str
    place: str
    state: State
    judged: int
    met: int
    allowed: int = 0
    skipped: int = 0
    findings: list[Finding] = []


class AllowanceUse(Strict):
    """A known divergence of the policy. used: results that it let pass."""

    place: str
    case: str
    backend: str
    reason: str
    issue: str
    expires: str
    used: int


class GateResult(Strict):
    """exit_status: 0 pass, 1 fail, 2 could not judge. notes: what a reader must know besides."""

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


def state_of(findings: list[Finding]) -> State:
    """Return the worst state: a failure weighs more than what cannot be judged."""
    states = {finding.state for finding in findings}
    return "failed" if "failed" in states else "unjudged" if states else "met"
