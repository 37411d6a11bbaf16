"""Writes a document as HTML: a self-contained file, and no script in it but one of our own.

That one (templates/tables.js) sorts and filters tables of documents that are scripted. Their policy
names its digest: nothing else runs. Without it the tables read as they are written.
"""

import base64
import functools
import hashlib
import re
from collections.abc import Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports import document as doc


class Markup(str):
    """HTML that the frame does not escape: MarkupSafe's class, which only writers of HTML load."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


TEMPLATES = Path(__file__).parents[1] / "templates"
MARK = "<!-- pages -->"  # where a page links to the others; text from elsewhere is escaped


def html(document: doc.Document) -> str:
    """Return the page; `linked` puts the links to other pages into it."""
    writer = _Writer()
    heading = f"<h1>{_inline(document.heading)}</h1>"
    return frame("page.html.j2").render(
        title=document.title,
        head=Markup(f"{heading}\n{writer.blocks(document.intro)}"),
        main=Markup(writer.blocks(document.blocks)),
        scripted=document.scripted,
        script=script(),
        script_digest=script_digest(),
    )


class _Writer:
    """Numbers tables and pictures, so that each has an id of its own."""

    def __init__(self) -> None:
        self.tables = count(1)
        self.pictures = count(1)

    def blocks(self, blocks: Sequence[doc.Block]) -> str:
        return "\n".join(text for block in blocks if (text := self.block(block)))

    def block(self, block: doc.Block) -> str:
        match block:
            case doc.Heading(level, content, place):
                return f"<h{level}{_id(place)}>{_inline(content)}</h{level}>"
            case doc.Paragraph(content, tone, style):
                return f"<p{_class(style, tone)}>{_inline(content)}</p>"
            case doc.Items(items, style):
                return f"<ul{_class(style)}>\n{''.join(map(_item, items))}</ul>"
            case doc.Table():
                return self.table(block)
            case doc.Picture():
                return self.figure(block)
            case doc.Fold(summary, inner, is_open, place):
                text = self.blocks(inner)
                start = f"<details{_id(place)}{' open' if is_open else ''}>"
                return text and f"{start}<summary>{_inline(summary)}</summary>\n{text}\n</details>"
            case doc.Card(title, place, inner, level, note):
                head = f"<h{level}{_id(place)}>{_inline(title)}</h{level}>"
                start = f'<article{_class("note" * note)} aria-labelledby="{escape(place)}">'
                return f"{start}\n{head}\n{self.blocks(inner)}\n</article>"
            case doc.Pre(text):
                return f"<pre>{_text(text)}</pre>"
            case doc.Facts(facts):
                return f"<dl>\n{''.join(self.fact(*fact) for fact in facts)}</dl>"
            case doc.Links(label, links):
                entries = "\n".join(f"<li>{_inline(doc.Link(*link))}</li>" for link in links)
                return f'<nav aria-label="{_text(label)}"><ul>\n{entries}\n</ul></nav>'
            case doc.Region(place, inner):
                start = f'<section aria-labelledby="{escape(place)}">'
                return f"{start}\n{self.blocks(inner)}\n</section>"
            case doc.Columns(parts):
                texts = [text for part in parts if (text := self.blocks(part))]
                sides = "\n".join(f"<div>\n{text}\n</div>" for text in texts)
                return f'<div class="columns">\n{sides}\n</div>' if len(texts) > 1 else sides
            case doc.InHtml(inner):
                return self.blocks(inner)
            case _:
                return ""

    def fact(self, term: doc.Inline, content: doc.Inline | list[doc.Block]) -> str:
        return f"<dt>{_inline(term)}</dt><dd>{self.content(content)}</dd>\n"

    def figure(self, figure: doc.Picture) -> str:
        svg = figure.draw(f"picture {next(self.pictures)}")  # escaped by Matplotlib
        if not svg:
            return ""
        start = f'<figure class="scroll chart" tabindex="0" aria-label="{_text(figure.label)}">'
        caption = f'<figcaption class="quiet">{_text(figure.caption)}</figcaption>'
        return f"{start}\n{svg}\n{caption}\n</figure>"

    def table(self, table: doc.Table) -> str:
        """Return a table in a group; a group is no landmark, because two may have the same name."""
        name = f"t{next(self.tables)}"
        heads = [_inline(head) for head in table.heads]
        rows = [row if isinstance(row, doc.TableRow) else doc.TableRow(row) for row in table.rows]
        first = next(
            (row for row in rows if len(row.cells) == len(heads)), doc.TableRow([""] * len(heads))
        )
        kinds = [_cell(cell).kind for cell in first.cells]
        columns = "".join(
            f'<th scope="col"{_class("n" * (kind == "n"))}>{head}</th>'
            for head, kind in zip(heads, kinds, strict=True)
        )
        stacked = "stacked" in table.style.split()
        labels = [re.sub("<[^>]*>", "", head) if stacked else "" for head in heads]
        body = "\n".join(self.row(row, labels) for row in rows[: table.most_html])
        left_out = len(rows) - len(rows[: table.most_html])
        more = f"\n<p>{left_out:,} more {table.what} are in the JSON.</p>" if left_out else ""
        return (
            f'<div class="scroll" role="group" tabindex="0" aria-labelledby="{name}">'
            f"<table{_class(table.style)}>\n"
            f'<caption id="{name}"><span>{_inline(table.caption)}</span></caption>\n'
            f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{more}"
        )

    def row(self, row: doc.TableRow, labels: list[str]) -> str:
        head, *cells = map(_cell, row.cells)
        text = self.content(head.content)
        parts = [f'<th scope="row"{_class(head.kind, head.tone)}>{text}</th>']
        for cell, label in zip(cells, labels[1:], strict=False):
            attributes = _class(cell.kind, cell.tone)
            attributes += f' colspan="{cell.span}"' if cell.span > 1 else ""
            attributes += f' data-label="{label}"' if label and cell.span == 1 else ""
            attributes += f' data-n="{cell.key}"' if cell.key is not None else ""
            parts.append(f"<td{attributes}>{self.content(cell.content)}</td>")
        return f"<tr{_id(row.id)}>{''.join(parts)}</tr>"

    def content(self, content: doc.Inline | list[doc.Block]) -> str:
        return self.blocks(content) if isinstance(content, list) else _inline(content)


def _cell(cell: doc.TableCell | doc.Inline) -> doc.TableCell:
    """Return a cell; the cell of a command is wide."""
    return (
        cell
        if isinstance(cell, doc.TableCell)
        else doc.TableCell(cell, kind="wide" if _is_code(cell) else "")
    )


def _is_code(content: doc.Inline) -> bool:
    return isinstance(content, doc.Code)


def _item(item: doc.Item | doc.Inline) -> str:
    item = item if isinstance(item, doc.Item) else doc.Item(item)
    inner = "".join(f"<li>{_inline(entry)}</li>" for entry in item.inner)
    text = _inline(item.content) + (f"<ul>{inner}</ul>" if inner else "")
    return f"<li{_class(item.tone)}>{text}</li>\n"


def _inline(content: doc.Inline) -> str:
    match content:
        case str():
            return _text(content)
        case tuple():
            return "".join(map(_inline, content))
        case doc.Code(text):
            return f"<code>{_text(text)}</code>"
        case doc.Untrusted(text):
            return _text(text)
        case doc.Strong(inner):
            return f"<strong>{_inline(inner)}</strong>"
        case doc.Toned(inner, tone, small):
            tag = "small" if small else "span"
            return f"<{tag}{_class(tone)}>{_inline(inner)}</{tag}>"
        case doc.Link(inner, target):
            return f'<a href="{_text(target)}">{_inline(inner)}</a>'
        case doc.Lines(parts, form):
            texts = [_inline(part) for part in parts]
            if form == "whole":
                return "".join(f"<div>{text}</div>" for text in texts)
            return (" " if form == "behind" else "<br>").join(texts)


def _text(text: str) -> str:
    return escape(visible(text))


def _id(name: str) -> str:
    return f' id="{escape(name)}"' if name else ""


def _class(*names: str) -> str:
    used = " ".join(filter(None, names))
    return f' class="{used}"' if used else ""


@functools.cache
def frame(name: str) -> "Template":
    """Return a template of our folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most commands need it not

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@functools.cache
def script(name: str = "tables.js") -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))  # ours, word for word


def script_digest(name: str = "tables.js") -> str:
    """Return its digest as a content security policy names it."""
    sha256 = hashlib.sha256(script(name).encode()).digest()
    return f"sha256-{base64.b64encode(sha256).decode()}"


def linked(html: str, pages: list[tuple[str, str]], current: str) -> str:
    """Return a page's HTML with links to all pages (stem and title); current: its own stem."""
    items = "".join(
        f'<li><a href="{stem}.html" aria-current="page">{title}</a></li>'
        if stem == current
        else f'<li><a href="{stem}.html">{title}</a></li>'
        for stem, title in pages
    )
    return html.replace(MARK, f'<nav aria-label="Pages"><ul>{items}</ul></nav>', 1)
