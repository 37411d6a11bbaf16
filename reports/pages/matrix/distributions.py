"""An engine's own draws against the exact distribution, as one cell of the matrix."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import CellOnBackend, Decision
from sampler_parity.reports.pages.matrix.model import DrawTally
from sampler_parity.reports.summary import anchor

# Whether it is as required, whether it is equivalent, what is decided, the test, its place.
Row = tuple[bool, bool, Decision, CellOnBackend, str]


def distributions_of(bundles: Sequence[Bundle]) -> dict[str, DrawTally]:
    """Return them by engine; each run is decided by itself, as the distribution page does."""
    tested = [bundle for bundle in bundles if bundle.cells]
    rows: dict[str, list[Row]] = defaultdict(list)
    for i, bundle in enumerate(tested):
        decided = decisions(bundle.cells)
        for cell in bundle.cells:
            for name, result in cell.backends.items():
                decision, _ = decided[cell.id, name]
                if decision == "skipped":
                    continue
                at = anchor(cell.id, name, of=i, among=len(tested))
                met = decision in cell.required[name]
                rows[name].append((met, decision == "equivalent", decision, result, at))
    return {name: _law(of_engine) for name, of_engine in rows.items()}


def _law(rows: list[Row]) -> DrawTally:
    worst = min(rows, key=lambda row: row[:2])
    return DrawTally(
        tests=len(rows),
        equivalent=sum(row[1] for row in rows),
        met=sum(row[0] for row in rows),
        others=Counter(decision for _, equivalent, decision, *_ in rows if not equivalent),
        draws=sum(row[3].draws for row in rows),
        anchor="" if worst[0] else worst[4],
    )
