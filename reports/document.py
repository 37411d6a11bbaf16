"""The document model: the content of a page, before a format is chosen.

The writers render it. A plain string is our own: words and numbers. Text from a bundle, an adapter
or a file stands in `Untrusted`, `Name` or `Code`, which each writer escapes as its format needs.

Markdown is short, for a comment on a pull request: it leaves out folded parts, cards, pictures,
lists of links and facts, and everything in `InHtml`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, Union

Outcome = Literal["", "failure", "error", "skipped"]
Tone = Literal["", "good", "fair", "bad", "quiet", "hot1", "hot2", "hot3"]


@dataclass(frozen=True)
class Untrusted:
    """Text from a bundle, an adapter or a file. limit: its characters in Markdown."""

    text: str
    limit: int = 200


@dataclass(frozen=True)
class Name(Untrusted):
    """An untrusted name; written as code in Markdown, where it could be markup."""


@dataclass(frozen=True)
class Code(Untrusted):
    """Code, mostly a command."""

    limit: int = 400


@dataclass(frozen=True)
class Strong:
    content: "Inline"


@dataclass(frozen=True)
class Toned:
    """Content with a colour, which repeats the meaning of its words. small: in small letters."""

    content: "Inline"
    tone: Tone
    small: bool = False


@dataclass(frozen=True)
class Link:
    """A link to a place of this page ("#id") or of another; Markdown has no places."""

    content: "Inline"
    target: str


@dataclass(frozen=True)
class Lines:
    """Parts with commas between them in Markdown; in HTML below each other, or behind. whole: none
    of them breaks."""

    parts: Sequence["Inline"]
    form: Literal["below", "whole", "behind"] = "below"


Inline: TypeAlias = Union[str, Untrusted, Strong, Toned, Link, Lines, tuple["Inline", ...]]  # noqa: UP007


class Block:
    """A part of a page; parts follow each other from top to bottom."""


@dataclass(frozen=True)
class TableCell:
    """A cell of a table. kind: its class of CSS; "n" for a number. key: see sort_key.
    span: columns. bold: in Markdown, which has no colours. Blocks are in HTML alone."""

    content: Inline | list[Block]
    tone: Tone = ""
    kind: Literal["", "n", "text", "wide", "keep"] = ""
    key: str | None = None
    span: int = 1
    bold: bool = False


def sort_key(value: float | None) -> str:
    """Return what a script sorts a cell by; "" is less than every number."""
    return "" if value is None else f"{value:.6g}"


def num(content: Inline, tone: Tone = "", key: str | None = None) -> TableCell:
    """Return the cell of a number."""
    return TableCell(content, tone, "n", key)


def sortable(text: str, value: float | None) -> TableCell:
    """Return the cell of a number by which a script sorts."""
    return num(text, key=sort_key(value))


def judged(content: Inline, tone: Tone, kind: Literal["", "n", "text", "wide"] = "") -> TableCell:
    """Return the cell of a verdict: what is bad is bold where there is no colour."""
    return TableCell(content, tone, kind, bold=tone == "bad")


@dataclass(frozen=True)
class TableRow:
    """The cells of a row, of which the first is its head. id: its place on the page."""

    cells: Sequence[TableCell | Inline]
    id: str = ""


Cells: TypeAlias = Sequence[TableCell | Inline]
Rows: TypeAlias = list[TableRow | Cells]


@dataclass(frozen=True)
class Table(Block):
    """A table.

    head: a cell each, or a string with "|" between cells.
    style: classes of CSS. "stacked": each row is a card on a phone. "sortable", "facets": a script
    sorts and filters the table.
    markdown: the heads of the columns that Markdown shows; None: all.
    most, most_html: rows in Markdown and in HTML.
    what: the noun for the rows that are left out.
    """

    caption: Inline
    head: str | Sequence[Inline]
    rows: Sequence[TableRow | Cells]
    style: str = ""
    markdown: str | None = None
    most: int = 60
    what: str = "rows"
    most_html: int | None = None

    @property
    def heads(self) -> list[Inline]:
        return [*(self.head.split(" | ") if isinstance(self.head, str) else self.head)]


@dataclass(frozen=True)
class Heading(Block):
    """A heading; markdown: what it is there, if something else."""

    level: int
    content: Inline
    id: str = ""
    markdown: Inline | None = None


@dataclass(frozen=True)
class Paragraph(Block):
    """A paragraph. style: "state" for a verdict, "legend" for what colours mean."""

    content: Inline
    tone: Tone = ""
    style: Literal["", "state", "legend"] = ""


@dataclass(frozen=True)
class Item:
    """An entry of a list. inner: entries below it; behind it in Markdown."""

    content: Inline
    tone: Tone = ""
    inner: Sequence[Inline] = ()


@dataclass(frozen=True)
class Items(Block):
    """A list. style: a class of CSS."""

    items: Sequence[Item | Inline]
    style: str = ""
    most: int = 60
    what: str = "more"


@dataclass(frozen=True)
class Picture(Block):
    """A picture. draw: from a salt, which keeps its ids apart from those of others, its SVG
    element; "" where there is nothing to draw, and then there is no figure."""

    label: str
    caption: str
    draw: Callable[[str], str]


@dataclass(frozen=True)
class Fold(Block):
    """Details that are shown when they are asked for; nothing where they are empty. markdown:
    whether they stand there."""

    summary: Inline
    blocks: Sequence[Block]
    open: bool = False
    id: str = ""
    markdown: bool = False


@dataclass(frozen=True)
class Card(Block):
    """Something that a reader looks at by itself. level: of its heading. note: nothing is wrong."""

    title: Inline
    id: str
    blocks: Sequence[Block]
    level: int = 4
    note: bool = False


@dataclass(frozen=True)
class Pre(Block):
    """Lines as they are: a command that replays, a case."""

    text: str


@dataclass(frozen=True)
class Facts(Block):
    """Terms, each with its description."""

    facts: Sequence[tuple[Inline, Inline | list[Block]]]


@dataclass(frozen=True)
class Links(Block):
    """Links to the parts of a page: content and target."""

    label: str
    links: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Region(Block):
    """A part of a page that begins with the heading of this id."""

    id: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Columns(Block):
    """Parts next to each other on a wide screen, below each other on a narrow one."""

    parts: Sequence[Sequence[Block]]


@dataclass(frozen=True)
class InHtml(Block):
    """Parts that Markdown leaves out."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class InMarkdown(Block):
    """Parts that only Markdown shows, mostly in place of a folded part."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A page. title: with its verdict, of the window. heading, intro: at its top. scripted: tables
    are sorted and filtered by a script."""

    title: str
    heading: str
    intro: Sequence[Block]
    blocks: Sequence[Block]
    scripted: bool = False


@dataclass(frozen=True)
class JunitTest:
    """Something that was tested, for what reads JUnit. started: when its run was. kind: of a
    failure, the verdict."""

    suite: str
    started: str
    name: str
    classname: str
    time_s: float = 0.0
    outcome: Outcome = ""
    kind: str = ""
    message: str = ""
    body: str = ""

    def ended(self, outcome: Outcome, kind: str, message: str, body: str = "") -> "JunitTest":
        """Return the same test with what came of it."""
        return replace(self, outcome=outcome, kind=kind, message=message, body=body)
