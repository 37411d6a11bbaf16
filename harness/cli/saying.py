"""What the commands print, through one door: every line of it is fit for a terminal and a CI's log.

Nothing else in this room prints (tests/cli/test_saying.py); who must not forget to make text of
others printable need not think of it.
"""

import sys

from sampler_parity.harness.errors import cannot_write
from sampler_parity.harness.foreign.printable import line, visible


class NobodyReads(Exception):  # noqa: N818 - `| head` is no failure
    """Whoever read our output has gone."""


def say(text: object) -> None:
    """Print a line, at once: what takes minutes may be watched through a pipe."""
    _write(line(str(text)))


def say_data(text: str) -> None:
    """Print data: whole, on lines of its own."""
    _write(visible(text))


def _write(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise NobodyReads from None
    except OSError as error:
        raise cannot_write("standard output", error) from None


def complain(text: str) -> None:
    """Print a line to stderr, if there is one."""
    if sys.stderr is not None:
        print(line(f"sampler-parity: {text}"), file=sys.stderr)
