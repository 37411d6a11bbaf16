"""Markdown of reports: tables, foreign text, and how long it may be for a pull request."""

from collections.abc import Iterable
from html import escape

from sampler_parity.harness.foreign.printable import one_line

MOST_CHARACTERS = 60_000  # GitHub takes 65,536
_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "\\`*_[]|~#@:\n"}


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def fitting(texts: Iterable[str]) -> str:
    """The first of them that has at most MOST_CHARACTERS, or the last, cut."""
    text = ""
    for text in texts:
        if len(text) <= MOST_CHARACTERS:
            return text
    cut = text[:MOST_CHARACTERS].rpartition("\n")[0]
    return f"{cut}\n\nCut here: see the HTML report.\n"


def safe(text: str, limit: int = 200) -> str:
    """Foreign text on one line, so that nothing in it is Markdown, HTML or a mention."""
    return escape(one_line(text, limit), quote=False).translate(_SPECIAL)


def code(text: str, limit: int = 200) -> str:
    return f"<code>{safe(text, limit)}</code>"
