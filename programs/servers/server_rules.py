"""The gate's rules about servers: each result as required, and none worse than it was."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, get_args

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.gate.policy import GateRule, Pattern, Policy, rule_name
from sampler_parity.harness.gate.records import RuleOutcome
from sampler_parity.harness.gate.rules import Allowances, Judgement, by_first_rule, finding
from sampler_parity.harness.verdicts import ServerVerdict
from sampler_parity.programs.servers.launch import real_servers
from sampler_parity.programs.servers.server_record import ServerResult

_ORDER: Sequence[str] = get_args(ServerVerdict)  # best first
# what a check may require of any server
_OF_ANY = ("honoured", "documented change", "refused", "ignored", "undocumented")


class ServerRule(GateRule):
    """Results of a server."""

    server: Pattern = "*"
    result: Pattern = "*"
    """pattern of the result, for example `parameter/top_k`"""
    verdicts: list[ServerVerdict] = []
    """verdicts that pass; default: those that the check requires"""

    @property
    def name(self) -> str:
        return rule_name("server", self.server, self.result)


class ServerNotWorseRule(GateRule):
    """No verdict is worse than that of the same server's result in the baseline bundle."""

    relative: ClassVar[bool] = True
    server: Pattern = "*"
    result: Pattern = "*"
    """pattern of the result, for example `parameter/top_k`"""

    @property
    def name(self) -> str:
        return rule_name("server_not_worse", self.server, self.result)


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


def refused(bundle: Bundle) -> str:
    """Return which result requires what only a known server may; "" if none does."""
    servers = real_servers()
    for result in bundle.of(ServerResult):
        server = servers.get(result.server)
        allowed = server.known.get(result.id, ()) if server else ()
        if {*result.required} - {*_OF_ANY, *allowed}:
            return f"{result.id!r} on {result.server} requires {' or '.join(result.required)}"
    return ""
