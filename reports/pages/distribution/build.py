"""Builds the model of the distribution page from bundles."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.statistics.plan import PARTS
from sampler_parity.reports.pages.distribution.model import (
    CellRow,
    DistributionReport,
    DistributionSection,
)


def report_of(bundles: list[Bundle]) -> DistributionReport | None:
    """Return a section for every bundle that has a distribution test; None where none has."""
    sections = [_section(bundle) for bundle in bundles if bundle.cells]
    if not sections:
        return None
    return DistributionReport(ok=all(part.ok for part in sections), sections=sections)


def _section(bundle: Bundle) -> DistributionSection:
    info = RunInfo.model_validate(visible(bundle.info.model_dump()))
    cells = [DistributionResult.model_validate(visible(c.model_dump())) for c in bundle.cells]
    decided = decisions(cells)
    rows = [
        _row(info, cell, name, result, *decided[cell.id, name])
        for cell in cells
        for name, result in cell.backends.items()
    ]
    skipped = sum(row.decision == "skipped" for row in rows)
    rows = [row for row in rows if row.decision != "skipped"]
    met = sum(row.met for row in rows)
    return DistributionSection(
        bundle=visible(bundle.folder.resolve().name),
        ok=met == len(rows) and bool(rows or bundle.cases),  # where all were skipped, nothing is
        run=info,
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        budget=PARTS * max((cell.alpha for cell in cells), default=0.0) * len(rows),
        pairs=len(rows),
        met=met,
        skipped=skipped,
        rows=sorted(rows, key=_worst_first),
    )


def _worst_first(row: CellRow) -> tuple[bool, bool, bool, float]:
    """Put coupled cells last: an engine with random numbers of its own is different in each."""
    return row.met, row.decision == "equivalent", row.what == "coupled", row.holm


def _row(
    info: RunInfo,
    cell: DistributionResult,
    name: str,
    result: CellOnBackend,
    decision: str,
    holm: float,
) -> CellRow:
    shared = ("margin", "smallest_caught", "planned", "n_vocab", "bins", "what", "suite")
    own = ("draws", "estimate", "low", "high", "p_value", "tests", "detail", "wall_s")
    return CellRow.model_validate(
        {
            "cell": cell.id,
            "backend": name,
            "decision": decision,
            "required": cell.required[name],
            "met": decision in cell.required[name],
            "holm": holm,
            "replay": replay(info, cell.suite, cell.id, [name]),
            **{key: getattr(cell, key) for key in shared},
            **{key: getattr(result, key) for key in own},
        }
    )
