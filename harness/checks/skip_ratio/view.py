"""How the record of a skip ratio is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.skip_ratio.record import SkipRatioResult


def lines(result: SkipRatioResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"skip_ratio {result.id}"


def measured(n: int, backends: list[str]) -> Iterator[str]:
    """Yield the summary of n results."""
    yield from ()
