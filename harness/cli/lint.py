"""The command `lint`."""

import typer

from sampler_parity.harness.cli.output import print_line


def lint() -> None:
    """Check suites, golden provenance and schemas. Count the cases that decide without rounding.

    Exit status: 0 no problems; 1 some.
    """
    from sampler_parity.harness import lint as linter
    from sampler_parity.harness.suite.ids import shipped

    paths = list(shipped().values())
    problems = linter.lint(paths)
    counts = linter.exact_line(linter.exact_cases(paths))
    print_line(f"exact    cases below/at/above the threshold: {counts}")
    for sampler, reason in linter.NEVER_EXACT.items():
        print_line(f"exact    {sampler} has no others: {reason}")
    for problem in problems:
        print_line(problem)
    if problems:
        raise typer.Exit(1)
    print_line("lint     no problems")
