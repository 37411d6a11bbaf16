"""What the commands print, through one door: every line of it is fit for a terminal and a CI's log.

Nothing else in this room prints (tests/cli/test_output.py); who must not forget to make text of
others printable need not think of it. Lines are for people: `lines_to` sends them away where a
command's output is data, or where nobody wants them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from sampler_parity.harness.cli.colour import coloured, wanted
from sampler_parity.harness.errors import cannot_write
from sampler_parity.harness.foreign.printable import line, visible

Where = Literal["stdout", "stderr", "nowhere"]
STDOUT = Path("-")

_where: Where = "stdout"


class NobodyReads(Exception):  # noqa: N818 - `| head` is no failure
    """Whoever read our output has gone."""


def say(text: object) -> None:
    """Print a line, at once: what takes minutes may be watched through a pipe."""
    if _where != "nowhere":
        shown = line(str(text))
        stream = sys.stdout if _where == "stdout" else sys.stderr
        _write(coloured(shown) if wanted(stream) else shown, _where)


def say_data(text: str) -> None:
    """Print data: whole, on lines of its own."""
    _write(visible(text), "stdout")


def give_data(path: Path, text: str) -> None:
    """Write data to a file, or print it where the path is `-`."""
    from sampler_parity.harness.files import write_text

    if path == STDOUT:
        say_data(text)
    else:
        write_text(path, text + "\n")


@contextmanager
def lines_to(where: Where) -> Iterator[None]:
    """What is said meanwhile goes there."""
    global _where
    before, _where = _where, where
    try:
        yield
    finally:
        _where = before


def beside(data: Path | None, quiet: bool = False) -> Where:
    """Where lines go beside data that is written to this path."""
    return "nowhere" if quiet else "stderr" if data == STDOUT else "stdout"


def _write(text: str, where: Literal["stdout", "stderr"]) -> None:
    stream = sys.stdout if where == "stdout" else sys.stderr
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        raise NobodyReads from None
    except OSError as error:
        name = "standard output" if where == "stdout" else "standard error"
        raise cannot_write(name, error) from None


def complain(text: str) -> None:
    """Print to stderr, if there is one, what went wrong."""
    remark(f"sampler-parity: {text}")


def remark(text: str) -> None:
    """Print a line to stderr, if there is one."""
    if sys.stderr is not None:
        print(line(text), file=sys.stderr, flush=True)
