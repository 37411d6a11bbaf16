"""The gate's rules about servers: each result as required, and none worse than it was."""

from collections.abc import Sequence
from typing import get_args

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.server import ServerResult, ServerVerdict
from sampler_parity.harness.gate.policy import Policy, ServerNotWorseRule, ServerRule
from sampler_parity.harness.gate.records import RuleOutcome
from sampler_parity.harness.gate.rules import Excused, Judged, by_first_rule, finding

_ORDER: Sequence[str] = get_args(ServerVerdict)  # best first


def judge_servers(bundle: Bundle, policy: Policy, excused: Excused) -> list[RuleOutcome]:
    """Every result of every server."""
    return by_first_rule(
        "server",
        policy.server,
        bundle.servers,
        _of_server,
        lambda rule, result: _judge(result, rule, excused),
    )


def judge_servers_not_worse(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, excused: Excused
) -> list[RuleOutcome]:
    """Every result of the baseline bundle that says something."""
    now = {(result.server, result.id): result for result in bundle.servers}
    before = baseline.servers if baseline else []
    return by_first_rule(
        "server_not_worse",
        policy.server_not_worse,
        [result for result in before if result.verdict != "skipped"],
        _of_server,
        lambda rule, old: _beside(now.get((old.server, old.id)), old, excused),
    )


def _of_server(rule: ServerRule | ServerNotWorseRule, result: ServerResult) -> bool:
    return rule.fits((result.server, rule.server), (result.id, rule.result))


def _subject(result: ServerResult) -> str:
    return f"{result.id} on {result.server}"


def _figure(result: ServerResult) -> str:
    return f"{result.verdict}: {result.evidence}"


def _judge(result: ServerResult, rule: ServerRule, excused: Excused) -> Judged:
    required = rule.verdicts or result.required
    if result.verdict in required:
        return "skipped" if result.verdict == "skipped" else "met"
    if result.verdict == "skipped" and excused.policy.skipped == "allow":
        return "skipped"
    if excused.covers(result.id, result.server, result.verdict):
        return "allowed"
    limit = " or ".join(required)
    mend = "" if result.verdict != "skipped" else 'write skipped = "allow" in the policy'
    return finding("failed", _subject(result), _figure(result), limit, result.curl, mend)


def _beside(result: ServerResult | None, old: ServerResult, excused: Excused) -> Judged:
    limit = f"not worse than {old.verdict}"
    if result is None or result.verdict == "skipped":
        why = "was judged in the baseline and is not in this bundle"
        mend = "check it, or make the baseline again"
        return finding("unjudged", _subject(old), why, limit, mend=mend)
    if _ORDER.index(result.verdict) <= _ORDER.index(old.verdict):
        return "met"
    if excused.covers(result.id, result.server, result.verdict):
        return "allowed"
    return finding("failed", _subject(result), _figure(result), limit, result.curl)
