"""A command line as text, and its words: as a shell reads it, and on Windows as programs do.

There a backslash is one unless a double quote follows, and single quotes are letters: `shlex` would
make C:toolsnode.exe of C:\\tools\\node.exe.
"""

import re
import shlex
import subprocess
import sys

WINDOWS = sys.platform == "win32"

_PIECE = re.compile(r'\\*"|\\+|[ \t]+|[^ \t"\\]+')


def split(text: str) -> list[str]:
    """The words of a command. Raises ValueError for a quote that is not closed."""
    return _split_on_windows(text) if WINDOWS else shlex.split(text)


def join(words: list[str]) -> str:
    """The command that has these words."""
    return subprocess.list2cmdline(words) if WINDOWS else shlex.join(words)


def _split_on_windows(text: str) -> list[str]:
    """By the rules of Microsoft's C runtime: of backslashes before a quote each pair is one, and
    one that is left over makes the quote a letter."""
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
