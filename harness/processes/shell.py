"""Split and join command lines: as a shell does, and on Windows as programs do.

On Windows a backslash escapes only a double quote, and single quotes are letters: `shlex` would
turn C:\\tools\\node.exe into C:toolsnode.exe.
"""

import re
import shlex
import subprocess
import sys

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
