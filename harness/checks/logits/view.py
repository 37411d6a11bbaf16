"""How the record of logits is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.logits.record import DecodeResult


def lines(result: DecodeResult) -> Iterator[str]:
    """Yield a line that names the result: nothing was judged."""
    yield f"decode {result.id}"
