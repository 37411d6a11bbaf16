"""What the skip-ratio page measured, in words."""

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import duration
from sampler_parity.reports.pages.skip_ratio.model import Row, SkipRatioReport


def leaves_of(row: Row) -> str:
    """With what was added to a forward pass."""
    return one_line(row.leaves) + (f" +{row.delay_ms:g} ms" if row.delay_ms else "")


def percent(value: float | None) -> str:
    """With as many digits as a skip ratio near 1 needs."""
    return "none" if value is None else f"{100 * value:.5g}%"


def us(value: float | None) -> str:
    return "none" if value is None else duration(1000 * value)


def with_interval(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.3g} [{interval[0]:.3g}, {interval[1]:.3g}]"


def model_words(report: SkipRatioReport) -> str:
    if report.points_deviation is None:
        return "No measured speed-up to hold the model against."
    parts = [f"{100 * report.points_deviation:.3g}% at {report.points:,} measured points"]
    if report.foretold_deviation is not None:
        off = f"{100 * report.foretold_deviation:.3g}%"
        parts.append(f"{off} at {report.foretold:,} points with a longer pass, foretold by others")
    return f"The modelled speed-up is off the measured one by at most {', and '.join(parts)}."
