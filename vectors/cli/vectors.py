"""The command `vectors`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.checks import Profile

if TYPE_CHECKING:
    from sampler_parity.vectors.written import Contents


def vectors(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a folder that does not exist")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", help="a kit: compare it with a new one, of the same options"),
    ] = None,
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

    --check compares a stored kit with what the suites and the reference give, and prints the first
    test that differs.

    Examples:
      sampler-parity vectors -o kit
      sampler-parity vectors --check kit
      sampler-parity vectors -o kit --suites parity/top_p --max-vocab 64

    Exit status: 0 it is written, or the same; 1 the stored kit differs; 2 bad input.
    """
    from sampler_parity.harness.errors import InputError
    from sampler_parity.vectors.kit import SUITES
    from sampler_parity.vectors.written import Contents

    if (output is None) == (check is None):
        raise InputError("vectors", "writes a kit, or checks one", "pass -o FOLDER or --check KIT")
    if check is not None:
        if (suites, profile, max_vocab) != (None, "quick", 4096):
            raise InputError("--check", "the kit has the other options", "leave them out")
        _check(check)
    elif output is not None:
        _write(Contents(suites or SUITES, profile, max_vocab), output)


def _check(kit: Path) -> None:
    from sampler_parity.harness.cli.output import print_line
    from sampler_parity.vectors.stored import difference

    problem = difference(kit)
    print_line(problem or f"{kit} is as the suites and the reference give it")
    if problem:
        raise typer.Exit(1)


def _write(contents: "Contents", output: Path) -> None:
    from sampler_parity.harness.cli.output import print_line
    from sampler_parity.harness.errors import InputError
    from sampler_parity.vectors.written import write

    try:
        output.mkdir(parents=True)
    except FileExistsError:
        raise InputError(output, "exists", "name another folder") from None
    except (OSError, ValueError) as problem:
        raise InputError(output, f"cannot be made: {problem}", "name another folder") from None
    try:
        counts = write(contents, output)
    except InputError:
        output.rmdir()  # nothing is written before all tests are made
        raise
    for kind, by_sampler in counts.items():
        for sampler, n in by_sampler.items():
            print_line(f"{kind}/{sampler:15} {n:,}")
    n_vectors, n_scripts = (sum(by_sampler.values()) for by_sampler in counts.values())
    print_line(f"{n_vectors:,} vectors, {n_scripts:,} scripts in {output}; README.md has the rules")
