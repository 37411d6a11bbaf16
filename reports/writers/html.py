"""HTML of reports: self-contained files, nothing from elsewhere, and no script but one of our own.

That one (templates/tables.js) sorts and filters tables of pages that say `scripted`. Their policy
names its digest: nothing else runs. Without it the tables read as they are written.
"""

import base64
import functools
import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

from sampler_parity.harness.failures.format_difference import number
from sampler_parity.reports.labels import duration, figure, tail


class Markup(str):
    """What templates take for HTML and do not escape, as MarkupSafe's class, which no command loads
    that writes none."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


TEMPLATES = Path(__file__).parents[1] / "templates"
MARK = "<!-- pages -->"  # where a page links to the others; text from elsewhere is escaped


def template(name: str, *folders: Path, **words: Any) -> "Template":
    """A file of these folders or of reports/templates; words: what it and what it imports
    may call."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most commands need it not

    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "number": number, "command": shlex.join}
    environment.globals |= {"figure": figure, "tail": tail, **words}
    environment.globals |= {"script": script(), "script_digest": script_digest()}
    return environment.get_template(name)


@functools.cache
def script() -> Markup:
    return Markup((TEMPLATES / "tables.js").read_text(encoding="utf-8"))  # ours, word for word


def script_digest() -> str:
    """As a content security policy names it."""
    sha256 = hashlib.sha256(script().encode()).digest()
    return f"sha256-{base64.b64encode(sha256).decode()}"


def linked(html: str, pages: list[tuple[str, str]], own: str) -> str:
    """A page's HTML with links to all pages (stem and title); own: its own stem."""
    items = "".join(
        f'<li><a href="{stem}.html" aria-current="page">{title}</a></li>'
        if stem == own
        else f'<li><a href="{stem}.html">{title}</a></li>'
        for stem, title in pages
    )
    return html.replace(MARK, f'<nav aria-label="Pages"><ul>{items}</ul></nav>', 1)
