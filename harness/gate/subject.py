"""Judge whether the bundle is of the thing that is released: `[subject]` of the policy.

Everything here is what run.json states. Statement and signature bind it to a release.
"""

from collections.abc import Iterator
from datetime import date

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.contradictions import started_on
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.machine import digest_of_code
from sampler_parity.harness.gate.policy import Policy, Subject
from sampler_parity.harness.gate.records import GateFinding, RuleOutcome, state_of
from sampler_parity.harness.gate.rules import finding
from sampler_parity.harness.rows import every_gate, load
from sampler_parity.harness.suite.ids import fits

Backends = dict[str, BackendInfo]


def judge_subject(bundle: Bundle, policy: Policy, today: date) -> list[RuleOutcome]:
    """Return the outcome of `[subject]`; none if the policy has no subject."""
    subject = policy.subject
    if subject is None:
        return []
    ran = backends_of(bundle, subject)
    findings = [
        *_absent(bundle, subject),
        *_other_files(subject, ran),
        *_other_run(bundle, subject, ran, today),
        *_unruled(bundle, policy, ran),
    ]
    return [
        RuleOutcome(
            rule=f"subject ({subject.name})",
            place="subject",
            state=state_of(findings),
            judged=1,
            met=int(not findings),
            findings=findings,
        )
    ]


def backends_of(bundle: Bundle, subject: Subject) -> Backends:
    """Return the backends of the subject that ran."""
    return {
        name: info
        for name, info in bundle.info.backends.items()
        if not info.unavailable and any(fits(name, pattern) for pattern in subject.backends)
    }


def digests_of(info: BackendInfo) -> set[str]:
    """Return the digests by which a policy may name a backend."""
    files = {file.sha256 for file in info.files}
    return ({info.digest, *info.libraries.values()} | files) - {""}


def _absent(bundle: Bundle, subject: Subject) -> Iterator[GateFinding]:
    names = [name for name, info in bundle.info.backends.items() if not info.unavailable]
    for pattern in subject.backends:
        if not any(fits(name, pattern) for name in names):
            figure = f"only {', '.join(names)} ran" if names else "nothing ran"
            yield _wrong(f"backend {pattern}", figure, "a result", f"run with -b {pattern}=...")


def _other_files(subject: Subject, ran: Backends) -> Iterator[GateFinding]:
    digests = {sha256 for info in ran.values() for sha256 in digests_of(info)}
    for sha256 in subject.sha256:
        if sha256 not in digests:
            figure = f"{len(digests)} other files" if digests else "no file's digest"
            yield _wrong(f"sha256 {sha256[:12]}", figure, "judged", "run the file that is released")


def _other_run(
    bundle: Bundle, subject: Subject, ran: Backends, today: date
) -> Iterator[GateFinding]:
    info = bundle.info
    for name, backend in ran.items():
        if subject.reference and backend.reference != subject.reference:
            yield _wrong(name, f"judged by {backend.reference}", subject.reference)
        if subject.sandbox and not backend.sandbox:
            yield _wrong(name, "ran without a sandbox", "--sandbox")
    if subject.platform and info.machine.machine != subject.platform:
        yield _wrong("the run", f"on {info.machine.machine or 'no machine'}", subject.platform)
    code = digest_of_code() if subject.code == "own" else subject.code
    if code and info.machine.code != code:
        figure = f"code {info.machine.code[:12] or 'none'} of sampler-parity {info.version}"
        yield _wrong("the run", figure, f"code {code[:12]}", "run with this version")
    started = started_on(bundle)
    if subject.max_age_days is not None and started is not None:
        age = (today - started).days
        if age > subject.max_age_days:
            yield _wrong("the run", f"{age} days old", f"at most {subject.max_age_days}")


def _unruled(bundle: Bundle, policy: Policy, ran: Backends) -> Iterator[GateFinding]:
    """Yield the first result of the subject that no rule judges."""
    judges = [load(gate.unruled) for gate in every_gate() if gate.unruled]
    unjudged = [result for unruled in judges for result in unruled(bundle, policy, ran)]
    if unjudged:
        figure = f"no rule judges it, and {len(unjudged) - 1:,} others"
        yield _wrong(unjudged[0], figure, "a rule", "add a last rule without patterns")


def _wrong(subject: str, figure: str, limit: str, fix: str = "run again") -> GateFinding:
    return finding("unjudged", subject, figure, limit, fix=fix)
