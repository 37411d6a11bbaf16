"""Parts that several pages have: the verdict at the top, and the machine at the end."""

import shlex

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.reports.document import Block, Code, Facts, Fold, Paragraph, Untrusted
from sampler_parity.reports.labels import state_of


def state(ok: bool, text: str) -> Paragraph:
    """Return the verdict of a page or of a part of it."""
    return Paragraph(f"{state_of(ok)}: {text}", "good" if ok else "bad", "state")


def machine(run: RunInfo) -> list[Block]:
    """Return what ran, on which machine."""
    m = run.machine
    packages = ", ".join(f"{name} {version}" for name, version in sorted(m.packages.items()))
    backends = [
        (name, (Code(shlex.join(info.command)), f"; can {', '.join(info.capabilities)}"))
        if info.capabilities
        else (name, Code(shlex.join(info.command)))
        for name, info in sorted(run.backends.items())
    ]
    facts = [
        ("sampler-parity", run.version),
        ("Command", Code(shlex.join(run.command))),
        ("System", f"{m.system}, {m.machine}, {m.libc}"),
        ("Processor", f"{m.cpu}, {m.cores} logical cores"),
        ("Memory", f"{m.memory_bytes / 1073741824:.1f} GiB"),
        ("Python", m.python),
        ("Packages", packages),
        *backends,
    ]
    features = f"Processor features ({len(m.cpu_flags)})"
    return [Facts(facts), Fold(features, [Paragraph(Code(" ".join(m.cpu_flags)))])]


def machine_fold(run: RunInfo) -> Fold:
    """Return the machine behind the name of its processor."""
    return Fold(Untrusted(run.machine.cpu), machine(run))
