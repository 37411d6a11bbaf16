"""The command line `sampler-parity`. Exit status: 0 met, 1 not met, 2 usage or set-up error.

The file of a command has its options and its output. It imports everything else inside its
function, so that no other command waits for that.
"""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from sampler_parity.harness.cli import (
    adapter,
    backends,
    builds,
    calibrate,
    capture,
    check,
    compare,
    engines,
    explain,
    fuzz,
    gate,
    golden,
    history,
    init,
    lint,
    predict,
    record,
    redact,
    report,
    repro,
    run,
    selftest,
    server,
    timing_selfcheck,
    trie_bench,
    upgrade,
    why,
)
from sampler_parity.harness.cli import list as list_
from sampler_parity.harness.cli.output import ReaderGone, error, print_line
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.processes.interrupts import interrupts_delayed
from sampler_parity.harness.sanitize.printable import cut

DEFECT = "a defect of sampler-parity"
INTERRUPTED = 128 + 2  # as if by SIGINT

_MINE, _MEASURE, _GATE, _MAINTAIN = "Check mine", "Measure", "Gate", "For maintainers"

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Checks LLM token samplers against a reference, to the bit.",
    epilog="""Examples:
  sampler-parity list suites
  sampler-parity run parity/top_p -b "mine=node my-adapter.js" -o bundles/mine
  sampler-parity explain bundles/mine top_p/crossing-token-is-kept
  sampler-parity report bundles/mine
  sampler-parity gate bundles/mine

Exit status: 0 as required; 1 not as required; 2 bad input, or a run that cannot go on;
130 interrupted.""",
)


def _version(asked: bool) -> None:
    if asked:
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


app.command("init", rich_help_panel=_MINE)(init.init)
app.command("list", rich_help_panel=_MINE)(list_.list_command)
app.command("run", rich_help_panel=_MINE)(run.run_command)
app.command("explain", rich_help_panel=_MINE)(explain.explain)
app.command("predict", rich_help_panel=_MINE)(predict.predict_command)
app.command("repro", rich_help_panel=_MINE)(repro.repro)
app.command("record", rich_help_panel=_MINE, context_settings={"ignore_unknown_options": True})(
    record.record
)
app.command("check", rich_help_panel=_MINE)(check.check)
app.command("why", rich_help_panel=_MINE)(why.why)
app.command("upgrade", rich_help_panel=_MINE)(upgrade.upgrade_command)
app.command("redact", rich_help_panel=_MINE)(redact.redact)
app.command("report", rich_help_panel=_MINE)(report.report)
app.command("fuzz", rich_help_panel=_MINE)(fuzz.fuzz_command)
app.command("backends", rich_help_panel=_MINE)(backends.backends)
app.add_typer(adapter.adapter_app, name="adapter", rich_help_panel=_MINE)
app.add_typer(server.server_app, name="server", rich_help_panel=_MINE)
app.command("compare", rich_help_panel=_MEASURE)(compare.compare)
app.add_typer(history.history_app, name="history", rich_help_panel=_MEASURE)
app.command("trie-bench", rich_help_panel=_MEASURE)(trie_bench.trie_bench)
app.command("capture", rich_help_panel=_MEASURE)(capture.capture)
app.command("gate", rich_help_panel=_GATE)(gate.gate_command)
app.add_typer(builds.builds_app, name="builds", rich_help_panel=_MAINTAIN)
app.add_typer(engines.engines_app, name="engines", rich_help_panel=_MINE)
app.add_typer(golden.golden_app, name="golden", rich_help_panel=_MAINTAIN)
app.command("lint", rich_help_panel=_MAINTAIN)(lint.lint)
app.command("selftest", rich_help_panel=_MAINTAIN)(selftest.selftest)
app.command("calibrate", rich_help_panel=_MAINTAIN)(calibrate.calibrate)
app.command("timing-selfcheck", rich_help_panel=_MAINTAIN)(timing_selfcheck.timing_selfcheck)


def main() -> None:
    """Run the command line. Bad input is one line on stderr and exit status 2.

    So is an error of the system. Any other exception is a defect of ours: its line names the file
    with the traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack characters
            stream.reconfigure(errors="backslashreplace")
    try:
        with interrupts_delayed():
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
