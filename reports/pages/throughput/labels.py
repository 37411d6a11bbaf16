"""What the throughput page measured, in words."""

from sampler_parity.reports.labels import duration
from sampler_parity.reports.pages.throughput.build import FLOOR
from sampler_parity.reports.pages.throughput.model import (
    Compared,
    OfOne,
    Rate,
    Remark,
    SlopeRow,
    TimedRow,
    WidthRow,
)


def verdict(row: TimedRow) -> str:
    if row.compared:
        return row.compared.verdict
    return "floor" if row.backend == FLOOR else "the first"


def verdict_class(row: TimedRow | WidthRow) -> str:
    said = row.compared.verdict if row.compared else ""
    return {"slower": "bad", "faster": "good", "same-within": "good"}.get(said, "quiet")


def more(remark: Remark) -> str:
    return f" and {remark.more:,} more" if remark.more else ""


def ratio(compared: Compared | OfOne | None) -> str:
    """ "1.23 [1.20, 1.26]"; "" on the baseline."""
    if compared is None or compared.ratio is None:
        return "" if compared is None else "none"
    if compared.low is None or compared.high is None:
        return f"{compared.ratio:.3g}"
    return f"{compared.ratio:.3g} [{compared.low:.3g}, {compared.high:.3g}]"


def rate(tokens_per_s: Rate) -> str:
    text = f"{tokens_per_s.value:,.0f}"
    if tokens_per_s.low is None or tokens_per_s.high is None:
        return text
    return f"{text} [{tokens_per_s.low:,.0f}, {tokens_per_s.high:,.0f}]"


def share(value: float | None) -> str:
    """Of sampling; in the graph it is a difference, and below 0 it is noise."""
    if value is None:
        return "not measured"
    return f"{value:.1%}" if value >= 0 else "less than the noise"


def slope_words(slope: SlopeRow) -> str:
    names = {
        "n_vocab": f"the vocabulary (history {slope.other:,})",
        "last_n": f"the history (vocabulary {slope.other:,})",
    }
    text = f"{duration(slope.first_ns)} at {slope.first:,}, {duration(slope.last_ns)} at"
    text += f" {slope.last:,}: grows with {names[slope.over]}, as its power {slope.exponent:.2f}"
    return text + (", and must not" if slope.finding else "")
