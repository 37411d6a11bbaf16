"""Labels of the platforms page."""

from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import share_of
from sampler_parity.reports.pages.platforms.model import Column, PlatformCell, PlatformsReport


def level(cell: PlatformCell) -> str:
    """Return the worst that differs there, with how many are alike: "texts 3/4", "alike"."""
    facts = [
        ("texts", cell.same_texts, cell.texts),
        ("tokens", cell.tokens, cell.drawing),
        ("survivors", cell.survivors, cell.cases),
        ("order", cell.order, cell.cases),
        ("bits", cell.bits, cell.cases),
    ]
    worst = (f"{name} {same:,}/{cases:,}" for name, same, cases in facts if same < cases)
    return next(worst, "alike")


def tone(cell: PlatformCell | None) -> Tone:
    """Return good: to the bit; fair: the same tokens; bad: other tokens or survivors."""
    if cell is None:
        return "quiet"
    if cell.bits == cell.cases:
        return "good"
    same = cell.tokens == cell.drawing and cell.survivors == cell.cases
    return "fair" if same else "bad"


def texts(cell: PlatformCell) -> str:
    """Return "3/4, from token 17 on"."""
    turned = f", from token {cell.token + 1} on" if cell.token is not None else ""
    return share_of(cell.same_texts, cell.texts, "") + turned


def basis(column: Column) -> str:
    """Return what the prediction of a platform rests on."""
    if not column.builds:
        return "predicted; no build of it was asked"
    judged = sum(build.judged for build in column.builds)
    identical = sum(build.identical for build in column.builds)
    return f"{identical:,}/{judged:,} cases of real builds are as predicted"


def headlines(report: PlatformsReport) -> list[str]:
    """Return what the report comes to, a line each."""
    lines = [f"{report.cases:,} cases predicted on {len(report.platforms):,} platforms"]
    if report.builds:
        judged = sum(build.judged for build in report.builds)
        identical = sum(build.identical for build in report.builds)
        lines.append(
            f"{identical:,}/{judged:,} identical to it on {len(report.builds):,} real builds"
        )
    return lines
