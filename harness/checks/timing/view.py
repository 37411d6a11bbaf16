"""How the record of a timed chain is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.timing.record import TimingResult


def lines(result: TimingResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"timing {result.id}"


def measured(n: int, backends: list[str]) -> Iterator[str]:
    """Yield the summary of n results."""
    yield f"timed    {n} chains on {', '.join(backends)}"
