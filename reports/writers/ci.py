"""Writes what a continuous integration shows: a document as Markdown, and tests as JUnit XML.

The Markdown is short enough for a comment on a pull request. Test suites are by name, in the order
in which they come.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from sampler_parity.harness.sanitize.printable import code, one_line, safe, visible
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import JunitTest

MOST_CHARACTERS = 60_000  # GitHub takes 65,536
_SHARES = (1.0, 1 / 3, 1 / 12, 0.0)  # of the rows of each table, until it fits
_OURS = {ord("<"): "&lt;", ord(">"): "&gt;", ord("|"): "&#124;", ord("\n"): " "}


def markdown(document: doc.Document) -> str:
    """Return the text; where it is too long, with fewer rows and how many are left out."""
    return fitting(_whole(document, share) for share in _SHARES)


def _whole(document: doc.Document, share: float) -> str:
    lines = [f"# {_inline(document.title)}", "", *_blocks(document.blocks, share)]
    last = document.blocks[-1] if document.blocks else None
    return "\n".join(lines if isinstance(last, doc.Region) else lines[:-1]) + "\n"


def _blocks(blocks: Sequence[doc.Block], share: float) -> Iterator[str]:
    """Yield the lines of each block, and an empty one after it."""
    for block in blocks:
        match block:
            case doc.InMarkdown(inner) | doc.Region(_, inner):
                yield from _blocks(inner, share)
            case doc.Columns(parts):
                yield from (line for part in parts for line in _blocks(part, share))
            case doc.Fold(_, inner) if block.markdown:
                yield from _blocks(inner, share)
            case doc.Heading(level, content):
                title = content if block.markdown is None else block.markdown
                yield from (f"{'#' * level} {_inline(title)}", "")
            case doc.Paragraph(content, style="" | "state"):
                yield from (_inline(content), "")
            case doc.Pre(text):
                yield from (*(code(line, 2000) for line in text.split("\n")), "")
            case doc.Items():
                yield from (*_items(block, int(block.most * share)), "")
            case doc.Table() if block.markdown != "":
                yield from (*_table(block, int(block.most * share)), "")
            case _:
                pass


def _items(block: doc.Items, most: int) -> Iterator[str]:
    for item in block.items[:most]:
        item = item if isinstance(item, doc.Item) else doc.Item(item)
        inner = f": {'; '.join(map(_inline, item.inner))}" if item.inner else ""
        yield f"- {_inline(item.content)}{inner}"
    if (left_out := len(block.items) - most) > 0:
        yield f"- and {left_out:,} {block.what}"


def _table(block: doc.Table, most: int) -> Iterator[str]:
    heads = [_lower(head) if isinstance(head, str) else _inline(head) for head in block.heads]
    columns = heads if block.markdown is None else block.markdown.split(" | ")
    at = [heads.index(head) for head in columns]
    rows = [_cells(row, len(heads)) for row in block.rows[:most]]
    if rows:
        yield from table(columns, [[row[i] for i in at] for row in rows])
    if (left_out := len(block.rows) - most) > 0:
        yield from (*([""] if rows else []), f"{left_out:,} more {block.what}.")


def _lower(head: str) -> str:
    """Return a head of HTML as Markdown shows it; "p (Holm)" and "SHA-256" stay."""
    return head[:1].lower() + head[1:] if head[1:2].islower() or head[:2] == "A " else head


def _cells(row: doc.TableRow | Sequence[doc.TableCell | doc.Inline], columns: int) -> list[str]:
    cells = []
    for cell in row.cells if isinstance(row, doc.TableRow) else row:
        cell = cell if isinstance(cell, doc.TableCell) else doc.TableCell(cell)
        text = "" if isinstance(cell.content, list) else _inline(cell.content)
        cells += [f"**{text}**" if cell.bold and text else text, *[""] * (cell.span - 1)]
    return [*cells, *[""] * (columns - len(cells))]


def _inline(content: doc.Inline) -> str:
    match content:
        case str():
            return str(visible(content)).translate(_OURS)
        case tuple():
            return "".join(map(_inline, content))
        case doc.Name(text, limit) | doc.Code(text, limit):
            return code(text, limit)
        case doc.Untrusted(text, limit):
            return safe(text, limit)
        case doc.Strong(inner):
            return f"**{_inline(inner)}**"
        case doc.Toned(inner) | doc.Link(inner):
            return _inline(inner)
        case doc.Lines(parts):
            return ", ".join(map(_inline, parts))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def fitting(texts: Iterable[str]) -> str:
    """Return the first of them that has at most MOST_CHARACTERS, or the last, cut."""
    text = ""
    for text in texts:
        if len(text) <= MOST_CHARACTERS:
            return text
    cut = text[:MOST_CHARACTERS].rpartition("\n")[0]
    return f"{cut}\n\nCut here: see the HTML report.\n"


_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # their attributes
_ESCAPED = re.compile(r'[&<>"\r\n\t]')
_IN_QUOTES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"}


def junit(tests: Iterable[JunitTest]) -> str:
    """Return the text of the file. A test is text at once: there may be a million."""
    suites: dict[str, list[str]] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    times: dict[str, float] = defaultdict(float)
    for test in tests:
        about = _attributes(name=test.suite, timestamp=test.started)
        suites.setdefault(about, []).append(_test(test))
        counts[about].update(("tests", _OUTCOMES.get(test.outcome, "")))
        times[about] += float(f"{test.time_s:.6f}")
    total = _counted(sum(counts.values(), Counter()), sum(times.values()))
    parts = [f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="sampler-parity"{total}']
    for about, members in suites.items():
        parts += [">\n" if len(parts) == 1 else "", f"  <testsuite{about}"]
        parts += [_counted(counts[about], times[about]), ">\n", *members, "  </testsuite>\n"]
    return "".join([*parts, "</testsuites>\n" if suites else " />\n"])


def _test(test: JunitTest) -> str:
    about = _attributes(name=test.name, classname=test.classname, time=f"{test.time_s:.6f}")
    if not test.outcome:
        return f"    <testcase{about} />\n"
    kind = {} if test.outcome == "skipped" else {"type": test.kind}
    node = f"{test.outcome}{_attributes(message=one_line(visible(test.message)), **kind)}"
    text = escape(visible(test.body))
    node = f"<{node}>{text}</{test.outcome}>" if text else f"<{node} />"
    return f"    <testcase{about}>\n      {node}\n    </testcase>\n"


def _counted(counts: Counter[str], time_s: float) -> str:
    numbers = {name: str(counts[name]) for name in ("tests", *_OUTCOMES.values())}
    return _attributes(**numbers, time=f"{time_s:.6f}")


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_quoted(value)}"' for name, value in values.items())


def _quoted(value: str) -> str:
    return escape(value, _IN_QUOTES) if _ESCAPED.search(value) else value
