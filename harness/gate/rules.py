"""The gate's rules about correctness: verdicts, alone and since the last release; distributions.

Every function here returns the outcome of each rule of its kind. Missing results are `unjudged`,
which never passes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal, TypeVar, get_args

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.correct.bias import biases
from sampler_parity.harness.failures.differing import id_of
from sampler_parity.harness.gate.policy import (
    DistributionRule,
    GateRule,
    NotWorseRule,
    ParityRule,
    Policy,
)
from sampler_parity.harness.gate.records import GateFinding, RuleOutcome, State, state_of
from sampler_parity.harness.verdicts import ORDER, Accept, passing

Judgement = GateFinding | Literal["met", "allowed", "skipped"] | None
"""The outcome for one result; None: the rule cannot be applied to it, so it does not count."""

R = TypeVar("R", bound=GateRule)
T = TypeVar("T")


@dataclass
class RuleTally:
    """Count what one rule has judged so far."""

    met: int = 0
    allowed: int = 0
    skipped: int = 0
    findings: list[GateFinding] = field(default_factory=list)

    def add(self, judged: Judgement) -> None:
        if isinstance(judged, GateFinding):
            self.findings.append(judged)
        self.met += judged == "met"
        self.allowed += judged == "allowed"
        self.skipped += judged == "skipped"


@dataclass(frozen=True)
class Allowances:
    """The known divergences of a policy that are valid today, and how many results each covered."""

    policy: Policy
    today: date
    used: Counter[int] = field(default_factory=Counter)

    def expired(self, i: int) -> bool:
        return self.policy.allow[i].expires < self.today

    def covers(self, case: str, backend: str, outcome: str, id: str = "") -> bool:
        for i, allowed in enumerate(self.policy.allow):
            if allowed.covers(case, backend, outcome, id) and not self.expired(i):
                self.used[i] += 1
                return True
        return False


def by_first_rule(
    kind: str,
    rules: Sequence[R],
    results: Iterable[T],
    fits: Callable[[R, T], bool],
    judge: Callable[[R, T], Judgement],
) -> list[RuleOutcome]:
    """Judge every result by the first rule that fits it; return the outcome of every rule."""
    tallies: defaultdict[int, RuleTally] = defaultdict(RuleTally)
    for result in results:
        index = next((i for i, rule in enumerate(rules) if fits(rule, result)), None)
        if index is not None:
            tallies[index].add(judge(rules[index], result))
    return outcomes(kind, rules, tallies)


def judge_parity(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every case on every backend that ran. A bias of a suite fails the first rule."""
    rows = by_first_rule(
        "parity",
        policy.rules("parity"),
        ((case, backend) for case in bundle.cases for backend in ran(bundle)),
        lambda rule, result: of_case(rule, *result),
        lambda rule, result: _judge_case(bundle, *result, rule, allowances),
    )
    biased = [
        finding("failed", f"{bias.suite} on {bias.backend}", str(bias), "cuts that lean both ways")
        for bias in biases(bundle.cases)
    ]
    if not biased or not rows:
        return rows
    first = rows[0].model_copy(update={"state": "failed", "findings": [*biased, *rows[0].findings]})
    return [first, *rows[1:]]


def of_case(rule: ParityRule | NotWorseRule, case: CaseResult, backend: str) -> bool:
    return rule.fits((backend, rule.backend), (case.id, rule.case)) and any(
        fnmatchcase(sampler, rule.sampler) for sampler in case.samplers
    )


def _judge_case(
    bundle: Bundle, case: CaseResult, backend: str, rule: ParityRule, allowances: Allowances
) -> Judgement:
    got = case.backends.get(backend)
    subject = f"{case.id} on {backend}"
    if got is None or backend not in case.required:
        command = _replay(bundle, case.suite, case.id, backend)
        return finding("unjudged", subject, "no result", "a result", command)
    allowed = rule.verdicts or passing(case.required[backend], allowances.policy.accept)
    limit = " or ".join(allowed)
    if got.verdict == "skipped":
        return _judge_skipped(case, backend, rule, allowances, limit)
    trouble = case.refusal or case.unmet or ("" if case.steps else "no step was taken")
    if got.among(allowed) and not trouble:
        return "met"
    if not trouble and allowances.covers(case.id, backend, got.verdict, id_of(got)):
        return "allowed"
    command = _replay(bundle, case.suite, case.id, backend)
    if got.among(allowed):
        return finding("failed", subject, trouble, limit, command)
    lenient = [a for a in get_args(Accept) if got.among(passing(case.required[backend], a))]
    fix = (
        f'if this is right for you, write accept = "{lenient[0]}" in the policy' if lenient else ""
    )
    return finding("failed", subject, _placed(got, case), limit, command, fix, id_of(got))


def _judge_skipped(
    case: CaseResult, backend: str, rule: ParityRule, allowances: Allowances, limit: str
) -> Judgement:
    """Judge a case that did not run: it passes only if the policy allows it. A rule that accepts
    `unsupported`, the name of older versions, accepts it, too."""
    lenient = {"skipped", "unsupported"}
    if allowances.policy.skipped == "allow" or lenient & set(rule.verdicts):
        return "skipped"
    if any(allowances.covers(case.id, backend, outcome) for outcome in sorted(lenient)):
        return "allowed"
    fix = 'claim it in the greeting, or write skipped = "allow" in the policy'
    figure = f"skipped: {case.backends[backend].detail}"
    return finding("failed", f"{case.id} on {backend}", figure, limit, fix=fix)


def _placed(got: BackendResult, case: CaseResult) -> str:
    """Format "diverged at stage 3 of 5 (top_p): p"."""
    words: list[str] = [f"{got.verdict} and tied" if got.ties else got.verdict]
    if got.stage:
        where = got.stage
        if got.stage_index is not None and got.stage_index < len(case.samplers):
            where = f"{got.stage_index + 1} of {len(case.samplers)} ({got.stage})"
        words.append(f"at stage {where}")
    if got.row is not None:
        words.append(f"in row {got.row.at + 1} of {got.row.of}")
    text = " ".join(words)
    detail = got.what or got.detail
    return f"{text}: {detail}" if detail else text


def judge_not_worse(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every case and backend of the baseline bundle."""
    before = baseline.cases if baseline else ()
    at = {id: i for i, id in enumerate(bundle.cases.ids())} if before else {}

    def now(id: str) -> CaseResult | None:
        return bundle.cases[at[id]] if id in at else None

    return by_first_rule(
        "not_worse",
        policy.rules("not_worse"),
        ((old, backend) for old in before for backend in old.backends),
        lambda rule, result: of_case(rule, *result),
        lambda rule, result: _not_worse(bundle, now(result[0].id), *result, allowances),
    )


def _not_worse(
    bundle: Bundle, case: CaseResult | None, old: CaseResult, backend: str, allowances: Allowances
) -> Judgement:
    """Compare a verdict with that of the same case in the baseline bundle."""
    was = old.backends[backend]
    subject = f"{old.id} on {backend}"
    limit = f"not worse than {was.verdict}"
    got = case.backends.get(backend) if case else None
    if case is None or got is None:
        why = "is in the baseline and not in this bundle"
        fix = "run it, or make the baseline again"
        return finding("unjudged", subject, why, limit, fix=fix)
    if _badness(got) <= _badness(was):
        return "met"
    if allowances.covers(old.id, backend, got.verdict, id_of(got)):
        return "allowed"
    command = _replay(bundle, case.suite, case.id, backend)
    return finding("failed", subject, _placed(got, case), limit, command, id=id_of(got))


def _badness(result: BackendResult) -> tuple[int, bool]:
    return ORDER.index(result.verdict), result.ties


def judge_distributions(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every distribution test on every backend that ran."""
    decided = decisions(bundle.of(DistributionResult))

    def judge(rule: DistributionRule, result: tuple[DistributionResult, str]) -> Judgement:
        cell, backend = result
        command = _replay(bundle, cell.suite, cell.id, backend)
        subject = f"{cell.id} on {backend}"
        if backend not in cell.backends or backend not in cell.required:
            return finding("unjudged", subject, "no result", "a result", command)
        decision, _ = decided[cell.id, backend]
        got = cell.backends[backend]
        if decision == "skipped" and policy.skipped == "allow":
            return "skipped"
        if rule.margin is None or cell.margin is None:
            state, limit = _by_decision(cell, backend, decision)
        else:
            state, limit = _by_margin(got, decision, rule.margin)
        if state == "met":
            return "met"
        if allowances.covers(cell.id, backend, decision):
            return "allowed"
        return finding(state, subject, _bounded(decision, got), limit, command)

    return by_first_rule(
        "distribution",
        policy.rules("distribution"),
        ((cell, backend) for cell in bundle.of(DistributionResult) for backend in ran(bundle)),
        lambda rule, result: of_cell(rule, *result),
        judge,
    )


def of_cell(rule: DistributionRule, cell: DistributionResult, backend: str) -> bool:
    return rule.fits((backend, rule.backend), (cell.id, rule.cell), (cell.what, rule.kind))


def unruled_cases(bundle: Bundle, policy: Policy, ran: Iterable[str]) -> Iterator[str]:
    """Yield the results of cases that no rule judges."""
    for case in bundle.cases:
        for name in ran:
            if not any(of_case(rule, case, name) for rule in policy.rules("parity")):
                yield f"{case.id} on {name}"


def unruled_cells(bundle: Bundle, policy: Policy, ran: Iterable[str]) -> Iterator[str]:
    """Yield the results of distribution tests that no rule judges."""
    for cell in bundle.of(DistributionResult):
        for name in ran:
            if not any(of_cell(rule, cell, name) for rule in policy.rules("distribution")):
                yield f"{cell.id} on {name}"


def judge_results(bundle: Bundle, kind: str, table: str, policy: Policy) -> list[RuleOutcome]:
    """Judge the results of a kind of record by their `ok`, where it has no rules of its own."""
    rows = by_first_rule(
        table,
        policy.rules(table),
        bundle.records.get(kind, []),
        lambda rule, result: rule.fits((result.id, rule.result)),
        lambda _, result: (
            "met" if result.ok else finding("failed", result.id, "not ok", "ok", fix="see its page")
        ),
    )
    return [row.model_copy(update={"rule": row.rule.replace("results", table, 1)}) for row in rows]


def _by_decision(cell: DistributionResult, backend: str, decision: str) -> tuple[State, str]:
    required = cell.required[backend]
    limit = " or ".join(required)
    if decision in required:
        return "met", limit
    return ("unjudged" if decision == "undecided" else "failed"), limit


def _by_margin(got: CellOnBackend, decision: str, margin: float) -> tuple[State, str]:
    """Judge by size: a proven difference that stays below the margin passes."""
    limit = f"at most {margin:g}"
    if decision in ("equivalent", "different", "undecided") and got.high is not None:
        if got.high <= margin:
            return "met", limit
        if got.low is not None and got.low > margin:
            return "failed", limit
        return "unjudged", limit
    return ("unjudged" if decision == "undecided" else "failed"), limit


def _bounded(decision: str, got: CellOnBackend) -> str:
    if got.low is None or got.high is None:
        return f"{decision}: {got.detail}" if got.detail else decision
    return f"{decision}, in [{got.low:.3g}, {got.high:.3g}] after {got.draws:,} draws"


def ran(bundle: Bundle) -> list[str]:
    """Return the backends that ran: each of them must have a result for everything."""
    return [name for name, info in bundle.info.backends.items() if not info.unavailable]


def finding(
    state: State,
    subject: str,
    figure: str,
    limit: str,
    command: str = "",
    fix: str = "",
    id: str = "",
) -> GateFinding:
    assert state != "met"
    return GateFinding(
        state=state, subject=subject, id=id, figure=figure, limit=limit, replay=command, mend=fix
    )


def outcomes(
    kind: str, rules: Sequence[GateRule], tallies: Mapping[int, RuleTally]
) -> list[RuleOutcome]:
    """Return the outcome of every rule; one with fewer results than required is unjudged."""
    rows = []
    for i, rule in enumerate(rules):
        tally = tallies.get(i, RuleTally())
        findings = list(tally.findings)
        failed = sum(f.state == "failed" for f in findings)
        judged = tally.met + tally.allowed + failed
        if judged < rule.at_least and not findings:
            few = finding(
                "unjudged",
                "the bundle",
                f"{judged:,} results that the rule can judge",
                f"at least {rule.at_least:,}",
                fix="run the suites and backends that the rule is about",
            )
            findings.append(few)
        rows.append(
            RuleOutcome(
                rule=rule.name,
                place=f"{kind}[{i + 1}]",
                state=state_of(findings),
                judged=judged,
                met=tally.met,
                allowed=tally.allowed,
                skipped=tally.skipped,
                findings=findings,
            )
        )
    return rows


def _replay(bundle: Bundle, suite: str, case: str, backend: str) -> str:
    return replay(bundle.info, suite, case, [backend])
