"""How the record of a timed chain is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.timing.record import TimingResult


def lines(result: TimingResult) -> Iterator[str]:
    """That it is there: nothing was judged."""
    yield f"timing {result.id}"


def measured(n: int, backends: list[str]) -> Iterator[str]:
    """What a run says after n of them."""
    yield f"timed    {n} chains on {', '.join(backends)}"
