"""`sampler-parity gate`: may this release go out? A bundle against a policy.

    met        every rule is met: exit status 0
    failed     a rule is not met, or a known divergence has expired: 1
    unjudged   none failed, but data for a rule is missing, torn or too noisy: 2

Missing data never passes. A bundle that is unfinished or malformed is an InputError, and so is a
policy that cannot be read: exit status 2, too.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from sampler_parity.harness.backends.artifact import info_of
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.bundle.machine import digest_of_code
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.gate.policy import Policy, PolicyFile
from sampler_parity.harness.gate.records import (
    AllowanceUse,
    GateFinding,
    GateResult,
    RuleOutcome,
    state_of,
)
from sampler_parity.harness.gate.rules import Allowances, finding, judge_results, ran
from sampler_parity.harness.gate.subject import judge_subject
from sampler_parity.harness.rows import load, records
from sampler_parity.harness.sanitize.printable import escaped
from sampler_parity.harness.suite.ids import shipped


def gate(
    bundle: Bundle,
    file: PolicyFile,
    baseline: Bundle | None,
    today: date,
    before: Sequence[RuleOutcome] = (),
) -> GateResult:
    """Return the outcome of every rule. bundle and baseline: as `read_finished` gives them. before:
    outcomes of rules that asked the backends again."""
    policy, allowances = file.policy, Allowances(file.policy, today)
    rules = [
        *before,
        _run(bundle, policy),
        *judge_subject(bundle, policy, today),
        *_judged(bundle, baseline, policy, allowances),
    ]
    rules += _allowances(policy, allowances)
    states = {rule.state for rule in rules}
    result = GateResult(
        exit_status=1 if "failed" in states else 2 if "unjudged" in states else 0,
        bundle=str(bundle.folder),
        baseline=str(baseline.folder) if baseline else "",
        policy=file.path,
        policy_sha256=file.sha256,
        judged_on=today.isoformat(),
        rules=rules,
        allowances=[
            AllowanceUse(
                place=f"allow[{i + 1}]",
                case=allowed.case,
                finding=allowed.finding,
                backend=allowed.backend,
                reason=allowed.reason,
                issue=allowed.issue,
                owner=allowed.owner,
                expires=allowed.expires.isoformat(),
                used=allowances.used[i],
            )
            for i, allowed in enumerate(policy.allow)
        ],
        notes=[*_notes(bundle, baseline, policy, allowances), *notes_of_files(bundle)],
    )
    return escaped(result)


def _judged(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> Iterator[RuleOutcome]:
    """Yield the outcome of every rule about results."""
    for row in records().values():
        for gate in row.gate:
            if gate.judge:
                yield from load(gate.judge)(bundle, baseline, policy, allowances)
            else:
                yield from judge_results(bundle, row.kind, gate.table, policy)


def _run(bundle: Bundle, policy: Policy) -> RuleOutcome:
    """Judge whether the bundle is from the run that the policy describes."""
    info = bundle.info
    findings = [
        _not_run(f"suite {pattern}", "not run", "run", "run it")
        for pattern in policy.suites
        if not any(fnmatchcase(suite, pattern) for suite in info.suites)
    ]
    if policy.profile == "full" and info.profile != "full":
        fix = "run --profile full"
        findings.append(_not_run("the run", f"profile {info.profile}", "profile full", fix))
    if info.only and not policy.partial:
        figure = f"only {', '.join(info.only)}"
        findings.append(
            _not_run("the run", figure, "whole suites", "run without --case and --sampler")
        )
    for name, backend in info.backends.items():
        optional = any(fnmatchcase(name, pattern) for pattern in policy.optional_backends)
        if backend.unavailable and not optional:
            figure = f"did not run: {backend.unavailable}"
            fix = "fix it, or name it in optional_backends"
            findings.append(_not_run(f"backend {name}", figure, "a result", fix))
    met = int(not findings)
    return RuleOutcome(
        rule="run",
        place="suites, profile, partial, optional_backends",
        state=state_of(findings),
        judged=1,
        met=met,
        findings=findings,
    )


def _not_run(subject: str, figure: str, limit: str, fix: str) -> GateFinding:
    return finding("unjudged", subject, figure, limit, fix=fix)


def _allowances(policy: Policy, allowances: Allowances) -> list[RuleOutcome]:
    """Return a failed rule for every allowance that has expired, or is unused if the policy forbids
    that."""
    outcomes = []
    for i, allowed in enumerate(policy.allow):
        if allowances.expired(i):
            figure, limit = f"expired on {allowed.expires}", f"a date from {allowances.today} on"
            fix = f"resolve {allowed.followed_in}, or set a later date"
        elif policy.unused_allowances == "fail" and not allowances.used[i]:
            figure, limit, fix = "matched nothing", "used at least once", "remove it"
        else:
            continue
        entry = f"allow[{i + 1}]"
        failure = finding("failed", allowed.target, figure, limit, fix=fix)
        outcome = RuleOutcome(
            rule=f"{entry} ({allowed.followed_in})",
            place=entry,
            state="failed",
            judged=1,
            met=0,
            findings=[failure],
        )
        outcomes.append(outcome)
    return outcomes


def _notes(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[str]:
    notes = [
        f"allow[{i + 1}] ({allowed.followed_in}) matched nothing: {allowed.target}"
        for i, allowed in enumerate(policy.allow)
        if not allowances.used[i] and not allowances.expired(i)
    ]
    notes += [
        f"allow[{i + 1}] ({allowed.followed_in}) let {allowances.used[i]:,} pass: {allowed.target}"
        for i, allowed in enumerate(policy.allow)
        if allowances.used[i]
    ]
    if policy.needs_baseline and baseline is None:
        notes.append("rules that compare with the last release judged nothing: no --baseline")
    notes += [
        f"no rule is about the {bundle.counts[row.kind]:,} {gate.noun} of this bundle"
        for row in records().values()
        for gate in row.gate
        if gate.noun and row.kind in bundle.counts and not policy.rules(gate.table)
    ]
    ours = shipped()
    notes += [
        f"suite {suite} is not shipped: it defines what its cases require"
        for suite in bundle.info.suites
        if suite not in ours
    ]
    if bundle.info.machine.code != digest_of_code():
        version = bundle.info.version
        notes.append(f"the run was made with other code of sampler-parity ({version})")
    notes += [
        f"no parity rule is about backend {name}"
        for name, info in bundle.info.backends.items()
        if policy.rules("parity")
        and not info.unavailable
        and not any(fnmatchcase(name, rule.backend) for rule in policy.rules("parity"))
    ]
    if policy.subject is None:
        versions = [(name, bundle.info.backends[name].version) for name in ran(bundle)]
        names = [f"{name} {version}".strip() for name, version in versions]
        notes.append(f"judged {', '.join(names)} only; no [subject] names what is released")
    before = baseline.info.suites if baseline is not None else {}
    notes += [
        f"suite {suite} is not that of the baseline bundle"
        for suite, digest in bundle.info.suites.items()
        if before.get(suite, digest) != digest
    ]
    return notes


def verify_files(bundle: Bundle) -> RuleOutcome:
    """Read every file of every backend again, without the cache, and compare its digest. A file
    that is not here leaves the rule unjudged."""
    files = [(name, file) for name, info in bundle.info.backends.items() for file in info.files]
    findings = [*(result for name, file in files for result in _finding(name, file))]
    findings += [
        finding(
            "unjudged", f"backend {name}", "no digests", "digests of its files", fix="run again"
        )
        for name in _without(bundle)
    ]
    return RuleOutcome(
        rule="files",
        place="--verify-files",
        state=state_of(findings),
        judged=len(files),
        met=len(files) - len([result for result in findings if result.figure != "no digests"]),
        findings=findings,
    )


def notes_of_files(bundle: Bundle) -> list[str]:
    """Return a note on the backends that an older version ran: their files are unknown."""
    names = _without(bundle)
    return [f"the bundle does not state the files of {', '.join(names)}"] if names else []


def _without(bundle: Bundle) -> list[str]:
    backends = bundle.info.backends.items() if bundle.cases or bundle.of(DistributionResult) else ()
    return [name for name, info in backends if not info.files and not info.unavailable]


def _finding(name: str, file: FileInfo) -> Iterator[GateFinding]:
    subject, limit = f"{file.path} of {name}", f"sha256 {file.sha256[:12]}"
    path = Path(file.path)
    if not path.exists():
        fix = "run the gate on the machine of the run"
        yield finding("unjudged", subject, "not on this machine", limit, fix=fix)
    elif (now := info_of(path, fresh=True)) != file:
        fix = "restore the file, or run again"
        yield finding("failed", subject, f"sha256 {now.sha256[:12]}", limit, fix=fix)
