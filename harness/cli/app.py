"""The command line `sampler-parity`. Exit status: 0 met, 1 not met, 2 usage or set-up error.

The file of a command has its options and its output. It is loaded when the command is used, and
imports everything else inside its function.
"""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from sampler_parity.harness.cli.commands import LazyCommands
from sampler_parity.harness.cli.output import ReaderGone, error, print_line, still
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.processes.interrupts import interrupts_delayed
from sampler_parity.harness.processes.phase import reported
from sampler_parity.harness.sanitize.printable import cut

DEFECT = "a defect of sampler-parity"
INTERRUPTED = 128 + 2  # as if by SIGINT

app = typer.Typer(
    cls=LazyCommands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Checks LLM token samplers against a reference, to the bit.",
    epilog="""Examples:
  sampler-parity list suites
  sampler-parity run parity/top_p -b "mine=node my-adapter.js" -o bundles/mine
  sampler-parity explain bundles/mine top_p/crossing-token-is-kept
  sampler-parity report bundles/mine
  sampler-parity gate bundles/mine

Exit status: 0 as required; 1 not as required; 2 bad input, or a run that
cannot go on; 130 interrupted.""",
)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print_line(f"sampler-parity {version('sampler-parity')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and exit.")
    ] = False,
) -> None:
    """Handle the options of all commands."""


def main() -> None:
    """Run the command line. Bad input is one line on stderr and exit status 2.

    So is an error of the system. Any other exception is a defect of ours: its line names the file
    with the traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack characters
            stream.reconfigure(errors="backslashreplace")
    try:
        with interrupts_delayed(), reported(still):
            app()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer's status after a Ctrl-C
            _interrupted("interrupted")
        raise
    except Interrupted as end:
        _interrupted(str(end))
    except KeyboardInterrupt:
        _interrupted("interrupted")
    except InputError as error:
        _end(str(error))
    except ReaderGone:
        _silence()
        sys.exit(128 + 13)  # as if by SIGPIPE, which Python ignores
    except MemoryError:
        _end("out of memory: use fewer processes (-j) or smaller input")
    except OSError as error:
        where = str(error.filename or "the system")
        _end(str(InputError(where, error.strerror or str(error))))
    except Exception as error:
        from concurrent.futures import BrokenExecutor  # loads more than all commands

        if isinstance(error, BrokenExecutor):
            _end("a process of the run died: run with --resume")
        _end(f"{DEFECT}: {_short(error)}: {_trace(error)}")


def _interrupted(text: str) -> NoReturn:
    """Print one line, even if Ctrl-C comes again."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _silence()
    error(text)
    sys.exit(INTERRUPTED)


def _end(text: str) -> NoReturn:
    _silence()
    error(text)
    sys.exit(2)


def _silence() -> None:
    """Drop the text that could not be printed, or Python tries again as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _short(error: Exception) -> str:
    return cut(f"{type(error).__name__}: {error}", 200)


def _trace(error: Exception) -> str:
    """Write the traceback to a file; return its path."""
    import tempfile  # both load more than most commands need
    import traceback

    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="defect-of-sampler-parity-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text.encode(errors="backslashreplace").decode())
    except OSError as full:
        return f"its traceback could not be written: {full.strerror}"
    return f"report it, please, with {file.name}"
