"""The commands about recorded data: `capture`, `golden verify`, `golden regenerate`, `lint`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sampler_parity.harness.cli.output import say
from sampler_parity.harness.foreign import limits

golden_app = typer.Typer(no_args_is_help=True, help="The recorded logits and results.")


def capture(
    model: Annotated[Path, typer.Option(help="a GGUF model")],
    prompts: Annotated[Path, typer.Option(help=".jsonl with id and text, or .txt")],
    output: Annotated[Path, typer.Option("--output", "-o")],
    dtype: Annotated[Literal["float32", "float16"], typer.Option()] = "float32",
    max_rows: Annotated[
        int | None, typer.Option(min=1, max=limits.TOKENS, help="evenly spaced")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=limits.JOBS)] = 1,
) -> None:
    """Capture the logits of any model as a fixture.

    Example:
      sampler-parity capture --model model.gguf --prompts prompts.jsonl -o rows.gguf

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.golden import capture as recorder

    recorder.capture(model, prompts, output, dtype, max_rows, threads)
    say(output)


@golden_app.command()
def verify() -> None:
    """Check every fixture against its digest, and the reference against the recorded results.

    Exit status: 0 all is as recorded; 2 something is not.
    """
    from sampler_parity.harness.golden import verify as golden
    from sampler_parity.harness.inputs.fixtures import golden_folder

    for line in golden.verify(golden_folder()):
        say(line)


@golden_app.command()
def regenerate(
    accept: Annotated[bool, typer.Option(help="replace the fixtures with the new ones")] = False,
) -> None:
    """Make every fixture again and say what differs.

    Exit status: 0, also where something differs; 2 bad input.
    """
    import tempfile

    from sampler_parity.harness.golden import verify as golden
    from sampler_parity.harness.inputs.fixtures import golden_folder

    with tempfile.TemporaryDirectory() as made:
        for line in golden.regenerate(golden_folder(), Path(made), accept):
            say(line)


def lint() -> None:
    """Check suites, golden provenance and schemas.

    Exit status: 0 no problems; 1 some.
    """
    from sampler_parity.harness import lint as linter
    from sampler_parity.harness.suite.shipped import shipped

    problems = linter.lint(list(shipped().values()))
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(1)
    say("lint     no problems")
