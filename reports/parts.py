"""Parts that several pages have: the verdict at the top, and the machine at the end."""

import shlex
from collections.abc import Sequence

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.reports.document import (
    Block,
    Code,
    Facts,
    Fold,
    Heading,
    Name,
    Paragraph,
    Untrusted,
)
from sampler_parity.reports.labels import several, state_of


def state(ok: bool, text: str) -> Paragraph:
    """Return the verdict of a page or of a part of it."""
    return Paragraph(f"{state_of(ok)}: {text}", "good" if ok else "bad", "state")


def bundle_heading(name: str, place: str, markdown: str = "") -> Heading:
    """Return the heading of a bundle; markdown: what stands behind its name there."""
    return Heading(2, ("Bundle ", Name(name)), place, (Name(name), markdown))


def folded(n: int, what: str, few: int, blocks: Sequence[Block], markdown: bool = True) -> Fold:
    """Return so many things, folded where there are more than a few."""
    return Fold(several(n, what), blocks, n <= few, markdown=markdown)


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
