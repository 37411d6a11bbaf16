"""Write tables of Markdown."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table. A line break in a cell becomes a blank, a bar is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return a text as code; an empty one stays empty."""
    return f"`{text}`" if text else ""


def alternatives(texts: Sequence[str]) -> str:
    """Return "a, b or c"."""
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last
