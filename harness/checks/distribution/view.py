"""How the record of a distribution test is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.distribution.record import DistributionResult


def lines(result: DistributionResult) -> Iterator[str]:
    """Yield a line for each backend, its decision first."""
    for name, cell in result.backends.items():
        yield f"{cell.decision.upper()} {result.id}   {name}"
