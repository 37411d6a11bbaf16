"""Labels of the skip-ratio page."""

from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports.labels import duration, interval
from sampler_parity.reports.pages.skip_ratio.model import SkipRatioReport, SkipRatioRow


def leaves_of(row: SkipRatioRow) -> str:
    """Return the leaves, with what was added to a forward pass."""
    return one_line(row.leaves) + (f" +{row.delay_ms:g} ms" if row.delay_ms else "")


def percent(value: float | None) -> str:
    """Return a share with as many digits as a skip ratio near 1 needs."""
    return "none" if value is None else f"{100 * value:.5g}%"


def us(value: float | None) -> str:
    """Return microseconds with a unit."""
    return "none" if value is None else duration(1000 * value)


def over_grammar(m: Measured) -> str:
    """Return the speed-up over the grammar first, with its interval."""
    return interval(m.tokens_per_second_vs_grammar, *m.tokens_per_second_vs_grammar_ci95)


def over_resampling(m: Measured) -> str:
    """Return the speed-up over the grammar by resampling, with its interval."""
    return interval(m.tokens_per_second_vs_resampling, *m.tokens_per_second_vs_resampling_ci95)


def model_error(report: SkipRatioReport) -> str:
    """Return how far the modelled speed-up is off the measured one."""
    if report.points_deviation is None:
        return "No measured speed-up to hold the model against."
    parts = [f"{100 * report.points_deviation:.3g}% at {report.points:,} measured points"]
    if report.foretold_deviation is not None:
        off = f"{100 * report.foretold_deviation:.3g}%"
        parts.append(f"{off} at {report.foretold:,} points with a longer pass, foretold by others")
    return f"The modelled speed-up is off the measured one by at most {', and '.join(parts)}."
