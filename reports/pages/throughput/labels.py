"""Labels of the throughput page."""

from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import duration, interval
from sampler_parity.reports.pages.throughput import model
from sampler_parity.reports.pages.throughput.build import FLOOR


def verdict(row: model.TimedRow) -> str:
    """Return the verdict of a timing; of one that is not compared, what it is there for."""
    if row.compared:
        return row.compared.verdict
    return "floor" if row.backend == FLOOR else "the first"


def tone(row: model.TimedRow | model.WidthRow) -> Tone:
    """Return the colour of a verdict."""
    tones: dict[str, Tone] = {"slower": "bad", "faster": "good", "same-within": "good"}
    return tones.get(row.compared.verdict, "quiet") if row.compared else "quiet"


def more(remark: model.Remark) -> str:
    """Return how many others share a remark."""
    return f" and {remark.more:,} more" if remark.more else ""


def ratio(compared: model.Compared | model.OfOne | None) -> str:
    """Return "1.23 [1.2, 1.26]"; "" on the baseline."""
    if compared is None:
        return ""
    return interval(compared.ratio, compared.low, compared.high) or "none"


def rate(tokens_per_s: model.Rate) -> str:
    """Return tokens a second with their interval."""
    text = f"{tokens_per_s.value:,.0f}"
    if tokens_per_s.low is None or tokens_per_s.high is None:
        return text
    return f"{text} [{tokens_per_s.low:,.0f}, {tokens_per_s.high:,.0f}]"


def share(value: float | None) -> str:
    """Return the share of sampling; in the graph it is a difference, and below 0 it is noise."""
    if value is None:
        return "not measured"
    return f"{value:.1%}" if value >= 0 else "less than the noise"


def growth(slope: model.SlopeRow) -> str:
    """Return what a cost grows with."""
    over, other = (
        ("vocabulary", "history") if slope.over == "n_vocab" else ("history", "vocabulary")
    )
    text = f"{duration(slope.first_ns)} at {slope.first:,}, {duration(slope.last_ns)} at"
    text += f" {slope.last:,}: grows with the {over} ({other} {slope.other:,}), as its power"
    return f"{text} {slope.exponent:.2f}" + (", and must not" if slope.finding else "")
