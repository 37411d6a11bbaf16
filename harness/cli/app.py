"""The command line `sampler-parity`. Exit status: 0 met, 1 not met, 2 usage or set-up error.

The modules of this room hold the commands: their options, and what they print. What a command works
with is imported as it begins, so that another does not wait for it.
"""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn

import typer

from sampler_parity.harness.cli import builds, bundles, fuzz, gate, golden, measure, run, trie
from sampler_parity.harness.cli.saying import NobodyReads, complain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.foreign.printable import cut

DEFECT = "a defect of sampler-parity"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Checks LLM token samplers against a reference, to the bit.",
)

app.command("run")(run.run_command)
app.command("fuzz")(fuzz.fuzz_command)
app.command("explain")(bundles.explain)
app.command("report")(bundles.report)
app.command("compare")(bundles.compare)
app.command("gate")(gate.gate_command)
app.command("backends")(builds.backends)
app.command("capture")(golden.capture)
app.command("calibrate")(measure.calibrate)
app.command("timing-selfcheck")(measure.timing_selfcheck)
app.command("trie-bench")(trie.trie_bench)
app.command("selftest")(measure.selftest)
app.command("lint")(golden.lint)
app.add_typer(bundles.history_app, name="history")
app.add_typer(golden.golden_app, name="golden")
app.add_typer(builds.builds_app, name="builds")
app.add_typer(builds.adapter_app, name="adapter")


def main() -> None:
    """Entry point: what is wrong with the input is one line on stderr and exit status 2.

    So is what the system refuses. What is left is a defect of ours: its line says so, and names the
    file that has the traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack the characters of what we say
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except InputError as error:
        _end(str(error))
    except NobodyReads:
        _silence()
        sys.exit(128 + 13)  # as if by SIGPIPE, which Python ignores
    except MemoryError:
        _end("out of memory: use fewer processes (-j) or smaller input")
    except OSError as error:
        where = str(error.filename or "the system")
        _end(str(InputError(where, error.strerror or str(error))))
    except Exception as error:
        from concurrent.futures import BrokenExecutor  # loads more than all of this room

        if isinstance(error, BrokenExecutor):
            _end("a process of the run died: run with --resume")
        _end(f"{DEFECT}: {_in_words(error)}: {_trace(error)}")


def _end(text: str) -> NoReturn:
    _silence()
    complain(text)
    sys.exit(2)


def _silence() -> None:
    """What could not be printed is given up, or Python tries once more as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_words(error: Exception) -> str:
    return cut(f"{type(error).__name__}: {error}", 200)


def _trace(error: Exception) -> str:
    """Where the traceback now is."""
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
