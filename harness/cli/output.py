"""Print what commands report: every line is fit for a terminal and for the log of a CI.

Nothing else in harness/cli prints (tests/cli/test_output.py), so untrusted text is always escaped.
Lines are for people. `lines_to` sends them elsewhere, or drops them, while data goes to stdout.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from sampler_parity.harness.cli.colour import coloured, wanted
from sampler_parity.harness.errors import cannot_write
from sampler_parity.harness.processes.phase import wait
from sampler_parity.harness.sanitize.printable import line, lines, visible

Where = Literal["stdout", "stderr", "nowhere"]
STDOUT = Path("-")

_where: Where = "stdout"


class ReaderGone(Exception):  # noqa: N818 - `| head` is no failure
    """The process that read our output has ended."""


def print_line(text: object) -> None:
    """Print a line and flush it: a run of minutes may be watched through a pipe."""
    if _where != "nowhere":
        printable = line(str(text))
        stream = sys.stdout if _where == "stdout" else sys.stderr
        _write(coloured(printable) if wanted(stream) else printable, _where)


def print_lines(texts: Iterable[str]) -> None:
    """Print many lines at once."""
    printable = lines(texts)
    _write("\n".join(map(coloured, printable) if wanted(sys.stdout) else printable), "stdout")


def print_data(text: str) -> None:
    """Print data to stdout, with its line ends."""
    _write(visible(text), "stdout")


def write_data(path: Path, text: str) -> None:
    """Write data to a file, or print it if the path is `-`."""
    from sampler_parity.harness.files import write_text

    if path == STDOUT:
        print_data(text)
    else:
        write_text(path, text + "\n")


@contextmanager
def lines_to(where: Where) -> Iterator[None]:
    """Send lines to another place meanwhile."""
    global _where
    before, _where = _where, where
    try:
        yield
    finally:
        _where = before


def line_target(data: Path | None, quiet: bool = False) -> Where:
    """Return where lines go while data is written to this path."""
    return "nowhere" if quiet else "stderr" if data == STDOUT else "stdout"


def _write(text: str, where: Literal["stdout", "stderr"]) -> None:
    wait(0)
    stream = sys.stdout if where == "stdout" else sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as failure:
        name = "standard output" if where == "stdout" else "standard error"
        raise cannot_write(name, failure) from None


def error(text: str) -> None:
    """Print an error to stderr, if there is one, with the name of the program."""
    warn(f"sampler-parity: {text}")


def still(what: str) -> None:
    """Report a long phase on stderr, unless nothing is to be printed."""
    if _where != "nowhere" and not {"-q", "--quiet"} & {*sys.argv}:
        with suppress(RuntimeError):  # a signal may come in the middle of a line
            warn(f"working  {what or ' '.join(sys.argv[1:3])}")


def warn(text: str) -> None:
    """Print a line to stderr, if there is one."""
    wait(0)
    if sys.stderr is not None:
        print(line(text), file=sys.stderr, flush=True)
