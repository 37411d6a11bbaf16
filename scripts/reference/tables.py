"""Write tables of Markdown."""

import textwrap
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table. A line break in a cell becomes a blank, a bar is escaped."""
    first, *others = (f"| {' | '.join(map(_cell, line))} |" for line in (head, *rows))
    return "\n".join([first, "|---" * len(head) + "|", *others])


def described(head: Sequence[str], rows: Sequence[tuple[str, str, str]]) -> str:
    """Return a table of names, values and meanings; a list if there are only one or two rows."""
    if len(rows) > 2:
        return table(head, rows)
    return "\n".join(map(_entry, rows))


def _entry(row: tuple[str, str, str]) -> str:
    name, value, meaning = (" ".join(cell.split()) for cell in row)
    text = f"- {name}{f' ({value})' if value else ''}{f': {meaning}' if meaning else ''}"
    return textwrap.fill(
        text, 118, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def also_line(rows: Sequence[object], names: str, kind: str) -> str:
    """Return the line below a table with these rows: the fields or options in the common table."""
    text = f"{'Also' if rows else 'Only'} {names}: [common {kind}](#common-{kind})."
    return textwrap.fill(text, 118, break_on_hyphens=False, break_long_words=False)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return a text as code; an empty one stays empty."""
    return f"`{text}`" if text else ""


def alternatives(texts: Sequence[str]) -> str:
    """Return "a, b or c"."""
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last
