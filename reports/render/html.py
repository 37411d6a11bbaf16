"""HTML of reports: self-contained files, no script, nothing from elsewhere."""

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

from sampler_parity.harness.parity.telling import number
from sampler_parity.reports.render.words import duration, figure, tail


class Markup(str):
    """What templates take for HTML and do not escape, as MarkupSafe's class, which no command loads
    that writes none."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


MARK = "<!-- pages -->"  # where a page links to the others; text from elsewhere is escaped


def template(name: str, **words: Any) -> "Template":
    """A file of reports/templates; words: the functions that it and what it imports may call."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # most commands write no HTML

    environment = Environment(
        loader=PackageLoader("sampler_parity.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "number": number, "command": shlex.join}
    environment.globals |= {"figure": figure, "tail": tail, **words}
    return environment.get_template(name)


def linked(html: str, pages: list[tuple[str, str]], own: str) -> str:
    """A page's HTML with links to all pages (stem and title); own: its own stem."""
    items = "".join(
        f'<li><a href="{stem}.html" aria-current="page">{title}</a></li>'
        if stem == own
        else f'<li><a href="{stem}.html">{title}</a></li>'
        for stem, title in pages
    )
    return html.replace(MARK, f'<nav aria-label="Pages"><ul>{items}</ul></nav>', 1)
