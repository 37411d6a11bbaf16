"""Escape untrusted text of an adapter, a bundle or a file name: for printing, and in Markdown.

Control characters, lone surrogates, invisible and direction-changing characters become escapes
(`\\x1b`). A printed line is one line of bounded length, and no command in the log of a CI: GitHub
obeys lines that begin with `::` or contain `##[`. In Markdown the text is no markup, HTML, formula,
mention or command.
"""

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

LONGEST_LINE = 4_000  # characters; our longest line, the list of all suites, has 1,300

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")


def escaped(model: M) -> M:
    """Return the model with all its texts made `visible`."""
    return model.__class__.model_validate(visible(model.model_dump()))


def visible(value: Any) -> Any:
    """Return the data with an escape for every character that does not print. Line feeds and tabs
    stay. inf and nan, which JSON lacks, become strings."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if value.isprintable() else "".join(map(_visible_character, value))
    if isinstance(value, dict):
        return {visible(key): visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible(item) for item in value]
    return value


def _visible_character(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()


def one_line(text: str, limit: int = 300) -> str:
    """Return it without line ends and runs of blanks; cut, with the number left out."""
    return cut(" ".join(text.split()), limit)


def cut(text: str, limit: int) -> str:
    """Return the first characters, and how many are left out."""
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit]}... ({left_out:,} more characters)"


def line(text: str, limit: int = LONGEST_LINE) -> str:
    """Return a line that is safe to print, whatever it contains."""
    result = cut(visible(text), limit).replace("\n", " ").replace("\t", " ")
    if result.lstrip().startswith("::"):
        result = result.replace("::", "\\x3a:", 1)
    return result.replace("##[", "#\\x23[")


def lines(texts: Iterable[str]) -> list[str]:
    """Return `line` of each text; the texts themselves if none has anything to escape."""
    items = [*texts]
    together = "".join(items)
    plain = together.isprintable() and "::" not in together and "##[" not in together
    return items if plain and max(map(len, items)) <= LONGEST_LINE else [*map(line, items)]


_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "\\`*_[]|~#@:$\n"}


def safe(text: str, limit: int = 200) -> str:
    """Return it on one line, cut at limit characters with the number left out."""
    return escape(one_line(visible(text), limit), quote=False).translate(_SPECIAL)


def code(text: str, limit: int = 200) -> str:
    return f"<code>{safe(text, limit)}</code>"
