"""Split and join command lines, and make the command that runs a program in a sandbox.

A shell's rules hold, and on Windows those of programs: a backslash escapes only a double quote, and
single quotes are letters. `shlex` would turn C:\\tools\\node.exe into C:toolsnode.exe.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from sampler_parity.harness.errors import InputError

WINDOWS = sys.platform == "win32"

_PIECE = re.compile(r'\\*"|\\+|[ \t]+|[^ \t"\\]+')


def split(text: str) -> list[str]:
    """Return the words of a command. Raises ValueError for a quote that is not closed."""
    return _split_on_windows(text) if WINDOWS else shlex.split(text)


def join(words: list[str]) -> str:
    """Return the command that has these words."""
    return subprocess.list2cmdline(words) if WINDOWS else shlex.join(words)


def _split_on_windows(text: str) -> list[str]:
    """Split by the rules of Microsoft's C runtime: before a quote, each pair of backslashes is one,
    and a single one makes the quote a letter."""
    words: list[str] = []
    word: str | None = None  # None between words: a pair of quotes is an empty one
    quoted = False
    for piece in _PIECE.findall(text):
        if piece.isspace() and not quoted:
            words += [] if word is None else [word]
            word = None
        elif piece.endswith('"'):
            slashes, is_letter = divmod(len(piece) - 1, 2)
            word = (word or "") + "\\" * slashes + '"' * is_letter
            quoted ^= not is_letter
        else:
            word = (word or "") + piece
    if quoted:
        raise ValueError("No closing quotation")
    return words if word is None else [*words, word]


_PROGRAM = Path(__file__).with_name("sandbox.py")
_TIMEOUT_S = 30.0
_FIX = "run in a container without network, and without --sandbox"


def sandboxed(program: list[str], scratch: Path) -> list[str]:
    """Return the command that runs a program in a sandbox with one writable file."""
    return [sys.executable, "-I", "-S", str(_PROGRAM), str(scratch), *program]


def refuse_missing_sandbox() -> None:
    """Raise InputError if no sandbox is available: the run then ends."""
    if sys.platform != "linux":
        raise InputError("--sandbox", f"needs Linux, this is {sys.platform}", _FIX)
    with tempfile.NamedTemporaryFile() as scratch:
        trial = sandboxed([sys.executable, "-I", "-S", "-c", ""], Path(scratch.name))
        try:
            result = subprocess.run(trial, capture_output=True, timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError("--sandbox", f"cannot be tried here: {error}", _FIX) from None
    if result.returncode:
        output = result.stderr.decode(errors="replace").strip().splitlines()
        why = output[-1] if output else f"exit status {result.returncode}"
        raise InputError("--sandbox", f"this system allows none: {why}", _FIX)
