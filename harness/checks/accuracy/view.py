"""How the record of a measured accuracy is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.accuracy.record import AccuracyResult


def lines(result: AccuracyResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"accuracy {result.id}"
