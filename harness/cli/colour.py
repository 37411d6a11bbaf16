"""Colour printed lines on a terminal, unless NO_COLOR is set.

Only our own words are coloured, by their place in a line that is already escaped.
"""

import os
import re
import sys
from typing import TextIO

_RED, _YELLOW, _GREEN, _DIM, _BOLD = "31", "33", "32", "2", "1"
_PLAIN = "\x1b[0m"
# A verdict, or a group of cases (harness/failures/groups.py), that begins a line; the last word of
# a summary; text that is only there to be copied.
_STYLES = (
    (r"(?:^|(?<=^  ))(DIVERGED|CRASHED|FAILED|TIMEOUT|REJECTED|FLAKY|DIFFERENT|SURVIVED)\b", _RED),
    (r"^([\d,]+ cases? (?:crash\w*|takes?|(?:is|are) rejected|diverges?|comes?))\b", _RED),
    (r"(?:^|(?<=^  ))(BOUNDARY|CLOSE|EXPLAINED|UNDECIDED|COULD NOT JUDGE)\b", _YELLOW),
    (r"^([\d,]+ cases? (?:falls?|differs?))\b", _YELLOW),
    (r"(?:^|(?<=^  ))(TIED|REORDERED|SKIPPED|UNSUPPORTED)\b", _DIM),
    (r"^([\d,]+ cases? (?:decides?|orders?|(?:is|are) (?:skipped|not supported)))\b", _DIM),
    (r"(?:^|(?<=^  ))(IDENTICAL|EQUIVALENT|caught|ok)\b", _GREEN),
    (r"(?<=   )(FAILED)\b", _RED),
    (r"(?<=   )(COULD NOT JUDGE)\b", _YELLOW),
    (r"(?<=   )(ok|pass)$", _GREEN),
    (r"(?<=  )(replay: .*)$", _DIM),
    (r"^(bundle   .*)$", _DIM),
    (r"^(next     .*)$", _BOLD),
)


def wanted(stream: TextIO | None) -> bool:
    """Return whether the stream shows colours."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if sys.platform == "win32" and not os.environ.get("WT_SESSION"):
        return False  # older consoles print the codes
    return stream.isatty()


def coloured(text: str) -> str:
    """Return a printable line with its colours."""
    for pattern, style in _STYLES:
        text = re.sub(pattern, f"\x1b[{style}m\\1{_PLAIN}", text)
    return text
