"""How the record of a case is shown."""

from collections.abc import Iterator

from sampler_parity.harness.checks.stages.record import CaseResult


def lines(result: CaseResult) -> Iterator[str]:
    """Yield a line for each backend, its verdict first."""
    for name, got in result.backends.items():
        yield f"{got.verdict.upper()} {result.id}   {name}"
