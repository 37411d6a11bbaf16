"""Mean time of a sampler's step on each backend and on the reference, from the records of cases."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.strict import Strict
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, factor
from sampler_parity.reports.parts import folded

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
