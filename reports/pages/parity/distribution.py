"""Distribution tests in a report: the rows, and the lines for the terminal."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.bundle.records.distribution import CellOnBackend, DistributionResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.distribution.decisions import decisions
from sampler_parity.harness.foreign.printable import one_line, visible
from sampler_parity.harness.statistics.plan import PARTS
from sampler_parity.reports.pages.parity.distribution_model import CellRow, Distribution
from sampler_parity.reports.render.words import short

SHOWN = 5


def distribution(bundle: Bundle, info: RunInfo) -> Distribution | None:
    """None where the run had none. The worst first. info: the run's, cleaned."""
    if not bundle.cells and not bundle.calibration:
        return None
    cells = [DistributionResult.model_validate(visible(c.model_dump())) for c in bundle.cells]
    decided = decisions(cells)
    rows = [
        _row(info, cell, name, result, *decided[cell.id, name])
        for cell in cells
        for name, result in cell.backends.items()
    ]
    calibration = bundle.calibration[-1] if bundle.calibration else None
    return Distribution(
        budget=PARTS * max((cell.alpha for cell in cells), default=0.0) * len(rows),
        pairs=len(rows),
        met=sum(row.met for row in rows),
        rows=sorted(rows, key=lambda row: (row.met, row.decision == "equivalent", row.holm)),
        calibration=calibration
        and CalibrationResult.model_validate(visible(calibration.model_dump())),
    )


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


def interval(row: CellRow) -> str:
    """ "0.0015 [0, 0.0049]", or nothing where nothing is bounded."""
    if row.low is None or row.high is None:
        return short(row.estimate)
    return f"{short(row.estimate)} [{short(row.low)}, {short(row.high)}]"


def terminal_lines(part: Distribution) -> list[str]:
    """What failed, a line for each backend, the budget and what the tests would have caught."""
    lines = []
    for row in [row for row in part.rows if not row.met][:SHOWN]:
        lines += [
            f"{row.decision.upper()} {one_line(row.cell)}   {one_line(row.backend)}:"
            f" {interval(row)}, margin {short(row.margin) or 'none'}, p = {short(row.holm)},"
            f" {row.draws:,} draws",
            f"  {one_line(row.detail)}" if row.detail else "",
            f"  replay: {row.replay}",
        ]
    for name in dict.fromkeys(sorted(row.backend for row in part.rows)):
        rows = [row for row in part.rows if row.backend == name]
        lines.append("   ".join(["draws   ", one_line(name, 80), *_counts(rows)]))
    if part.rows:
        lines.append(
            f"budget   {part.budget:.0e} for all that the run states, over {part.pairs} tests"
        )
        lines += [f"  {line}" for line in _caught(part.rows)]
    if part.calibration is not None:
        claims = part.calibration.claims
        lines += [f"NOT MET {c.text}: {c.seen}" for c in claims if not c.met]
        met = sum(claim.met for claim in claims)
        lines.append(f"calibration   {met}/{len(claims)} claims of the tests hold")
    return [line for line in lines if line]


def _counts(rows: list[CellRow]) -> list[str]:
    counted = [f"{sum(r.decision == 'equivalent' for r in rows)}/{len(rows)} equivalent"]
    others = dict.fromkeys(r.decision for r in rows if r.decision != "equivalent")
    counted += [f"{sum(r.decision == kind for r in rows)} {kind}" for kind in others]
    return [*counted, f"{sum(r.draws for r in rows):,} draws"]


def _caught(rows: list[CellRow]) -> list[str]:
    """The smallest distance that each cell would have caught."""
    by_cell = {row.cell: row for row in rows}
    return [
        f"{cell}: {short(row.smallest_caught)} over {_over(row)}"
        for cell, row in sorted(by_cell.items())
        if row.smallest_caught is not None and row.what in ("frequency", "coupled")
    ]


def _over(row: CellRow) -> str:
    return f"{row.bins:,} bins" if row.bins else f"all {row.n_vocab:,} tokens"
