"""Colours of what is printed, where a terminal shows it and nobody asked for none (NO_COLOR).

Only words that we say are coloured, by where they stand in a line that is printable already.
"""

import os
import re
import sys
from typing import TextIO

_RED, _YELLOW, _GREEN, _DIM = "31", "33", "32", "2"
_PLAIN = "\x1b[0m"
# The first word of a failure, the last of a summary, and what is only there to be copied.
_STYLES = (
    (re.compile(r"^(DIVERGED|CRASHED|FAILED|TIMEOUT|FLAKY|DIFFERENT|SURVIVED|REJECTED)\b"), _RED),
    (re.compile(r"^(BOUNDARY|CLOSE|EXPLAINED|REORDERED|UNDECIDED|COULD NOT JUDGE)\b"), _YELLOW),
    (re.compile(r"^(TIED|SKIPPED|UNSUPPORTED)\b"), _DIM),
    (re.compile(r"^(IDENTICAL|EQUIVALENT|caught|ok)\b"), _GREEN),
    (re.compile(r"(?<=   )(FAILED)\b"), _RED),
    (re.compile(r"(?<=   )(COULD NOT JUDGE)\b"), _YELLOW),
    (re.compile(r"(?<=   )(ok|pass)$"), _GREEN),
    (re.compile(r"^( *replay: .*|bundle   .*)$"), _DIM),
    (re.compile(r"^(next     .*)$"), "1"),
)


def wanted(stream: TextIO | None) -> bool:
    """Whether colours are shown there."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32" and not os.environ.get("WT_SESSION"):
        return False  # older consoles print the codes
    return stream.isatty()


def coloured(text: str) -> str:
    """A printable line with its colours."""
    for pattern, style in _STYLES:
        text = pattern.sub(rf"\x1b[{style}m\1{_PLAIN}", text)
    return text
