"""The gate's rules about servers: each result as required, and none worse than it was."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.gate.policy import Policy, ServerNotWorseRule, ServerRule
from sampler_parity.harness.gate.records import RuleOutcome
from sampler_parity.harness.gate.rules import Allowances, Judgement, by_first_rule, finding
from sampler_parity.harness.verdicts import ServerVerdict

_ORDER: Sequence[str] = get_args(ServerVerdict)  # best first


def judge_servers(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every result of every server."""
    return by_first_rule(
        "server",
        policy.rules("server"),
        bundle.of(ServerResult),
        of_server,
        lambda rule, result: _judge(result, rule, allowances),
    )


def judge_servers_not_worse(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every result of the baseline bundle that was not skipped."""
    now = {(result.server, result.id): result for result in bundle.of(ServerResult)}
    before = baseline.of(ServerResult) if baseline else []
    return by_first_rule(
        "server_not_worse",
        policy.rules("server_not_worse"),
        [result for result in before if result.verdict != "skipped"],
        of_server,
        lambda rule, old: _not_worse(now.get((old.server, old.id)), old, allowances),
    )


def of_server(rule: ServerRule | ServerNotWorseRule, result: ServerResult) -> bool:
    return rule.fits((result.server, rule.server), (result.id, rule.result))


def unruled_servers(bundle: Bundle, policy: Policy, ran: Iterable[str]) -> Iterator[str]:
    """Yield the results of servers that no rule judges."""
    for result in bundle.of(ServerResult):
        if not any(of_server(rule, result) for rule in policy.rules("server")):
            yield f"{result.id} on {result.server}"


def _subject(result: ServerResult) -> str:
    return f"{result.id} on {result.server}"


def _figure(result: ServerResult) -> str:
    return f"{result.verdict}: {result.evidence}"


def _judge(result: ServerResult, rule: ServerRule, allowances: Allowances) -> Judgement:
    required = rule.verdicts or result.required
    if result.verdict in required:
        return "skipped" if result.verdict == "skipped" else "met"
    if result.verdict == "skipped" and allowances.policy.skipped == "allow":
        return "skipped"
    if allowances.covers(result.id, result.server, result.verdict):
        return "allowed"
    limit = " or ".join(required)
    fix = "" if result.verdict != "skipped" else 'write skipped = "allow" in the policy'
    return finding("failed", _subject(result), _figure(result), limit, result.curl, fix)


def _not_worse(result: ServerResult | None, old: ServerResult, allowances: Allowances) -> Judgement:
    limit = f"not worse than {old.verdict}"
    if result is None or result.verdict == "skipped":
        why = "was judged in the baseline and is not in this bundle"
        fix = "check it, or make the baseline again"
        return finding("unjudged", _subject(old), why, limit, fix=fix)
    if _ORDER.index(result.verdict) <= _ORDER.index(old.verdict):
        return "met"
    if allowances.covers(result.id, result.server, result.verdict):
        return "allowed"
    return finding("failed", _subject(result), _figure(result), limit, result.curl)
