"""How the record of logits at several widths is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.invariance.record import InvarianceResult


def lines(result: InvarianceResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"invariance {result.id}"
