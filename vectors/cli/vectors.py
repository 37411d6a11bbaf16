"""The command `vectors`."""

from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.checks import Profile


def vectors(
    output: Annotated[Path, typer.Option("--output", "-o", help="a folder that does not exist")],
    suites: Annotated[
        list[str] | None,
        typer.Option("--suites", help="of which suites (those of samplers); may be repeated"),
    ] = None,
    profile: Annotated[
        Profile, typer.Option("--profile", help="how many cases: quick or full")
    ] = "quick",
    max_vocab: Annotated[
        int,
        typer.Option("--max-vocab", min=1, max=1_000_000, help="leave out cases of more tokens"),
    ] = 4096,
) -> None:
    """Write test vectors: cases of samplers as data, for tests in any language.

    The folder has a JSON file for each sampler, long rows as float32, a JSON Schema, and a README
    with the rules by which a result is right. A vector is one call, a script several on one state.

    Examples:
      sampler-parity vectors -o kit
      sampler-parity vectors -o kit --suites parity/top_p --max-vocab 64

    Exit status: 0 it is written; 2 bad input.
    """
    from sampler_parity.harness.cli.output import print_line
    from sampler_parity.harness.errors import InputError
    from sampler_parity.vectors.kit import SUITES, kit_of
    from sampler_parity.vectors.written import write

    try:
        output.mkdir(parents=True)
    except FileExistsError:
        raise InputError(output, "exists", "name another folder") from None
    except (OSError, ValueError) as problem:
        raise InputError(output, f"cannot be made: {problem}", "name another folder") from None
    try:
        counts = write(kit_of(suites or SUITES, profile, max_vocab), output)
    except InputError:
        output.rmdir()  # nothing is written before all tests are made
        raise
    for kind, by_sampler in counts.items():
        for sampler, n in by_sampler.items():
            print_line(f"{kind}/{sampler:15} {n:,}")
    n_vectors, n_scripts = (sum(by_sampler.values()) for by_sampler in counts.values())
    print_line(f"{n_vectors:,} vectors, {n_scripts:,} scripts in {output}; README.md has the rules")
