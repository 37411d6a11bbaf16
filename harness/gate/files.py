"""Whether the files of this machine are those that the bundle's backends were made of."""

from collections.abc import Iterator
from pathlib import Path

from sampler_parity.harness.backends.artifact import info_of
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.gate.records import GateFinding, RuleOutcome, state_of
from sampler_parity.harness.gate.rules import finding


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
