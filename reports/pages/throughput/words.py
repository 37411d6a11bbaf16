"""What the throughput page measured, in words."""

from sampler_parity.reports.pages.throughput.build import FLOOR
from sampler_parity.reports.pages.throughput.model import Compared, Rate, Remark, SlopeRow, TimedRow
from sampler_parity.reports.render.words import duration


def verdict(row: TimedRow) -> str:
    if row.compared:
        return row.compared.verdict
    return "floor" if row.backend == FLOOR else "the first"


def more(remark: Remark) -> str:
    return f" and {remark.more:,} more" if remark.more else ""


def ratio(found: Compared | None) -> str:
    """ "1.23 [1.20, 1.26]"; "" on the baseline."""
    if found is None or found.ratio is None:
        return "" if found is None else "none"
    if found.low is None or found.high is None:
        return f"{found.ratio:.3g}"
    return f"{found.ratio:.3g} [{found.low:.3g}, {found.high:.3g}]"


def rate(found: Rate) -> str:
    text = f"{found.value:,.0f}"
    if found.low is None or found.high is None:
        return text
    return f"{text} [{found.low:,.0f}, {found.high:,.0f}]"


def share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def slope_words(slope: SlopeRow) -> str:
    names = {
        "n_vocab": f"the vocabulary (history {slope.other:,})",
        "last_n": f"the history (vocabulary {slope.other:,})",
    }
    text = f"{duration(slope.first_ns)} at {slope.first:,}, {duration(slope.last_ns)} at"
    text += f" {slope.last:,}: grows with {names[slope.over]}, as its power {slope.exponent:.2f}"
    return text + (", and must not" if slope.finding else "")
