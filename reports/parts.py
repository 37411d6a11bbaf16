"""Parts that several pages have: the verdict at the top, and the machine at the end."""

import shlex
from collections.abc import Sequence

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import several, state_of


def state(ok: bool, text: str) -> doc.Paragraph:
    """Return the verdict of a page or of a part of it."""
    return doc.Paragraph(f"{state_of(ok)}: {text}", "good" if ok else "bad", "state")


def bundle_heading(name: str, anchor: str, markdown: str = "") -> doc.Heading:
    """Return the heading of a bundle; markdown: what stands behind its name there."""
    return doc.Heading(2, ("Bundle ", doc.Name(name)), anchor, (doc.Name(name), markdown))


def folded(
    n: int, what: str, few: int, blocks: Sequence[doc.Block], markdown: bool = True
) -> doc.Fold:
    """Return so many things, folded where there are more than a few."""
    return doc.Fold(several(n, what), blocks, n <= few, markdown=markdown)


def machine(run: RunInfo) -> list[doc.Block]:
    """Return what ran, on which machine."""
    m = run.machine
    packages = ", ".join(f"{name} {version}" for name, version in sorted(m.packages.items()))
    backends = [
        (name, (doc.Code(shlex.join(info.command)), f"; can {', '.join(info.capabilities)}"))
        if info.capabilities
        else (name, doc.Code(shlex.join(info.command)))
        for name, info in sorted(run.backends.items())
    ]
    facts = [
        ("sampler-parity", run.version),
        ("Command", doc.Code(shlex.join(run.command))),
        ("System", f"{m.system}, {m.machine}, {m.libc}"),
        ("Processor", f"{m.cpu}, {m.cores} logical cores"),
        ("Memory", f"{m.memory_bytes / 1073741824:.1f} GiB"),
        ("Python", m.python),
        ("Packages", packages),
        *backends,
    ]
    features = f"Processor features ({len(m.cpu_flags)})"
    return [doc.Facts(facts), doc.Fold(features, [doc.Paragraph(doc.Code(" ".join(m.cpu_flags)))])]


def machine_line(run: RunInfo) -> doc.Paragraph:
    """Return the machine in one line."""
    m = run.machine
    memory = f"{m.memory_bytes / 1073741824:.1f} GiB"
    names = (m.cpu, f"{m.cores} logical cores", memory, m.system, m.machine, m.libc)
    return doc.Paragraph(doc.Untrusted(", ".join(filter(None, (*names, f"Python {m.python}")))))


def machine_fold(run: RunInfo) -> doc.Fold:
    """Return commands, packages and processor features, folded."""
    return doc.Fold("Commands, packages and processor features", machine(run))
