"""The command `record`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from sampler_parity.harness.cli.output import error, lines_to, print_line
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.verdicts import Accept
from sampler_parity.programs.recording.detail import Detail

_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_MS = {"s": 1_000, "min": 60_000, "h": 3_600_000}


def record(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...")],
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of the recording")] = Path(
        "recording"
    ),
    engine: Annotated[
        str, typer.Option(help="an engine in Python: transformers, mlx_lm, vllm", metavar="NAME")
    ] = "",
    detail: Annotated[
        Detail,
        typer.Option(help="tokens alone, the survivors of each stage, or all candidates of each"),
    ] = "survivors",
    keep: Annotated[
        str, typer.Option(help="only the newest candidates: 10min or 2GiB", metavar="TIME|SIZE")
    ] = "",
    limit: Annotated[
        str, typer.Option(help="stop recording at this size on disk", metavar="SIZE")
    ] = "",
    no_text: Annotated[
        bool, typer.Option("--no-text", help="only token ids; no vocabulary, grammar or arguments")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="judge it meanwhile; print what differs on stderr")
    ] = False,
    accept: Annotated[
        Accept | None, typer.Option(help="with --check: what else passes", show_default=False)
    ] = None,
) -> None:
    """Run a program that uses llama.cpp, or an engine in Python, and record every sampler chain.

    The recording contains what the model wrote, and stays on this machine. The program's output and
    exit status are its own. Linux, x86-64 or AArch64; libllama must be loaded dynamically.

    Examples:
      sampler-parity record -- llama-server -m model.gguf
      sampler-parity record -o r --keep 10min -- python app.py
      sampler-parity record --engine transformers -- python app.py
      sampler-parity check r
      sampler-parity record --check --keep 2GiB -- llama-server -m model.gguf

    Exit status: 0 or another, that of the program; 2 it cannot be recorded.
    """
    import os
    import signal

    from sampler_parity.programs.recording import program

    if accept == "correct" or (accept and not check):
        raise InputError(
            f"--accept {accept}", "is not for a recording", "use --check --accept tied"
        )
    if 0 < (size := _amount(keep, _BYTES) if keep.endswith("B") else 0) < 2**27:
        raise InputError(f"--keep {keep}", "is less than two files of 64MiB", "keep 128MiB or more")
    options = program.Options(
        engine=engine,
        accept=(accept or "identical") if check else None,
        detail=detail,
        text=not no_text,
        keep=size,
        keep_ms=_amount(keep, _MS) if keep and not keep.endswith("B") else 0,
        limit=_amount(limit, _BYTES) if limit else 0,
    )
    texts = "token ids" if no_text else "the texts that the model reads and writes"
    first = f"sampler-parity records {texts} to {output}; nothing leaves this machine"
    with lines_to("stderr"):
        status, problems = program.record(command, output, options, lambda: print_line(first))
        for problem in problems:
            error(problem)
    if status < 0:  # end as the program did
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    raise typer.Exit(status)


def _amount(text: str, units: dict[str, int]) -> int:
    """Return a number of bytes or milliseconds. Raises InputError."""
    match = re.fullmatch(r"(\d{1,9})([A-Za-z]+)", text)
    if match is None or match[2] not in units or int(match[1]) == 0:
        raise InputError(
            text, "is not a valid amount", f"write a number and a unit: {', '.join(units)}"
        )
    return int(match[1]) * units[match[2]]
