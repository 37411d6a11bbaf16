"""Parts that several pages have: the verdict at the top, and the machine at the end.

For tables: the mean time of a sampler's step on each backend and on the reference, from the records
of cases; the order of engines side by side, and the reason why one is not identical.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sampler_parity.harness.backends.engines import ENGINES, without_build
from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.failures.explanations import Key
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, factor, several, state_of


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


CAPTION = (
    "Mean time per step, over the cases whose chain is this sampler alone; not a benchmark. "
    "Backend: its own sampler calls. Reference: Python, with the copy of the candidates that the "
    "comparison needs. Ratio: reference to backend."
)
_UNANSWERED = ("skipped", "unsupported", "rejected", "crashed", "timeout")
OPEN = 40  # rows


class SamplerTime(Strict):
    """The cases of one sampler alone that a backend answered; times in ns, each over all steps."""

    sampler: str
    backend: str
    cases: int
    steps: int
    backend_ns: int
    reference_ns: int


def times(*bundles: Sequence[CaseResult]) -> list[SamplerTime]:
    """Return a row for each sampler and backend, in the order of the reference's samplers.

    Cases that draw are left out: their draws are not counted as steps.
    """
    counted: dict[tuple[str, str], list[Any]] = defaultdict(lambda: [0, 0, 0, 0.0])
    for case in (case for cases in bundles for case in where(cases, _alone)):
        for name, result in case.backends.items():
            if case.reference_s and result.ns and result.verdict not in _UNANSWERED:
                more = (1, case.steps, result.ns, case.reference_s)
                counts = counted[case.samplers[0], name]
                counts[:] = map(sum, zip(counts, more, strict=True))
    rows = [
        SamplerTime(
            sampler=sampler,
            backend=backend,
            cases=cases,
            steps=steps,
            backend_ns=ns,
            reference_ns=round(reference_s * 1e9),
        )
        for (sampler, backend), (cases, steps, ns, reference_s) in counted.items()
    ]
    order = {sampler: i for i, sampler in enumerate(ALL_SAMPLERS)}
    return sorted(rows, key=lambda row: order.get(row.sampler, len(order)))


def _alone(case: CaseResult) -> bool:
    return len(case.samplers) == 1 and bool(case.steps) and not case.draws


def times_part(
    rows: list[SamplerTime], level: int, anchor: str, limit: int = OPEN
) -> Iterator[doc.Block]:
    """Yield a heading and the table of times, folded above `limit` rows."""
    if not rows:
        return
    names = list(dict.fromkeys(row.backend for row in rows))
    several = len(names) > 1
    cells: doc.Rows = [
        [
            doc.Name(row.sampler),
            *([doc.TableCell(doc.Name(row.backend), kind="keep")] if several else []),
            *(doc.num(f"{n:,}") for n in (row.cases, row.steps)),
            *(doc.num(duration(ns / row.steps)) for ns in (row.backend_ns, row.reference_ns)),
            doc.num(factor(row.reference_ns / row.backend_ns, None, None)),
        ]
        for row in rows
    ]
    backend_head: list[doc.Inline] = ["Backend"] if several else []
    backend: doc.Inline = "Its time" if several else doc.Name(names[0])
    head: list[doc.Inline] = [
        "Sampler",
        *backend_head,
        "Cases",
        "Steps",
        backend,
        "Reference",
        "Ratio",
    ]
    table = doc.Table(CAPTION, head, cells, style="sticky")
    yield doc.Heading(level, "Time per sampler", anchor)
    yield folded(len(rows), "row", limit, [table], False)


_OF_LLAMA_CPP = ("llama.cpp", "reference")
_SAID: tuple[Verdict, ...] = (
    "skipped",
    "unsupported",
    "rejected",
)  # the backend's reply gives the reason


def of_llama_cpp(name: str) -> bool:
    """Return whether it is a build of llama.cpp, or the reference, which is its double."""
    return without_build(name) in _OF_LLAMA_CPP


def place(name: str) -> tuple[int, str]:
    """Return the sort key of a backend: as the engines are listed, then all others."""
    base = without_build(name)
    return (list(ENGINES).index(base) if base in ENGINES else len(ENGINES), name)


def reason(name: str, result: BackendResult, explained: dict[Key, str]) -> str:
    """Return why a result is not identical: the backend's words where it refused, that it is
    correct, else our line; or ''."""
    if result.verdict in _SAID:
        return result.detail
    if result.verdict == "correct":
        return "Another rounding, or another order of equals, that the specification allows."
    if result.verdict == "undefined":
        return result.detail or "No specification defines the result of this input."
    base = without_build(name)
    return explained.get((base, result.stage, result.verdict), "")
