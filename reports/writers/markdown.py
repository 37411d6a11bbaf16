"""Markdown of reports: tables, and how long it may be for a pull request."""

from collections.abc import Iterable

MOST_CHARACTERS = 60_000  # GitHub takes 65,536


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
