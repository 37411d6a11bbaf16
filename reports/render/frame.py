"""A page of the report: what it answers, whether that is in order, and its text by format."""

from collections.abc import Callable
from dataclasses import dataclass, field

_ENDING = {"junit": "junit.xml"}
MARK = "<!-- pages -->"  # where a page links to the others; text from elsewhere is escaped


@dataclass(frozen=True)
class Page:
    """stem: of its files. ok: None where a page only measures. texts: by format.

    figures: what it comes to, a line each, for index.html.
    """

    stem: str
    title: str
    ok: bool | None
    texts: dict[str, Callable[[], str]]
    figures: list[str] = field(default_factory=list)

    def file(self, name: str) -> str:
        """The name of its file in a format."""
        return f"{self.stem}.{_ENDING.get(name, name)}"


def linked(html: str, pages: list[Page], here: str) -> str:
    """A page's HTML with links to the other pages, and to index.html; here: its own stem."""
    links = [("index", "Overview"), *((page.stem, page.title) for page in pages)]
    items = "".join(
        f'<li><a href="{stem}.html" aria-current="page">{title}</a></li>'
        if stem == here
        else f'<li><a href="{stem}.html">{title}</a></li>'
        for stem, title in links
    )
    return html.replace(MARK, f'<nav aria-label="Pages"><ul>{items}</ul></nav>', 1)
