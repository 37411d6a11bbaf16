"""The command `lint`."""

import typer

from sampler_parity.harness.cli.output import print_line


def lint() -> None:
    """Check suites, golden provenance and schemas.

    Exit status: 0 no problems; 1 some.
    """
    from sampler_parity.harness import lint as linter
    from sampler_parity.harness.suite.shipped import shipped

    problems = linter.lint(list(shipped().values()))
    for problem in problems:
        print_line(problem)
    if problems:
        raise typer.Exit(1)
    print_line("lint     no problems")
