"""How the record of a width is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.throughput.record import ThroughputResult


def lines(result: ThroughputResult) -> Iterator[str]:
    """That it is there: nothing was judged."""
    yield f"throughput {result.id}"


def measured(n: int, backends: list[str]) -> Iterator[str]:
    """What a run says after n of them."""
    yield f"decoded  {n} settings on {', '.join(backends)}"
