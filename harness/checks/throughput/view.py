"""How the record of a width is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.throughput.record import ThroughputResult


def lines(result: ThroughputResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"throughput {result.id}"


def measured(n: int, backends: list[str]) -> Iterator[str]:
    """Yield the summary of n results."""
    yield f"decoded  {n} settings on {', '.join(backends)}"
