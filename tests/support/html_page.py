"""A parsed page, and the requirements on every page of the reports."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "br", "input", "path", "use", "rect"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Page(HTMLParser):
    """Elements with attributes, and all text outside of <style>."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"<{tag}> is closed out of turn"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())

    def all(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def policy(text: str) -> str:
    """Return the required policy of a page: only its own style and one script, by its digest."""
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    if len(scripts) != 1:
        return POLICY
    sha256 = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    return f"{POLICY}; script-src 'sha256-{sha256}'"


def problems(text: str, pages: tuple[str, ...] = ()) -> list[str]:
    """Return the faults of a page: forbidden scripts or resources, and barriers to reading it.

    pages: the files that it may link to.
    """
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    links = [a["href"] for a in page.all("a")]
    wanted = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    wanted |= {link[1:] for link in links if link.startswith("#")}
    scrolling = [a for _, a in page.elements if "scroll" in a.get("class", "").split()]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    scopes = {a.get("scope") for a in page.all("th")}
    by_kind = {
        "runs or embeds": [
            *page.all("iframe", "object", "embed", "img", "base", "form"),
            *(page.all("script") if f'content="{policy(text)}"' not in text else []),
        ],
        "handler": [a for _, at in page.elements for a in at if a.startswith("on")],
        "loads": [a for _, a in page.elements if "src" in a],
        "links out": [
            x for x in links if not x.startswith("#") and x.partition("#")[0] not in pages
        ],
        "no policy": [] if f'content="{policy(text)}"' in text else [policy(text)],
        "no language": [a for a in page.all("html") if "lang" not in a],
        "not a phone's width": [] if 'name="viewport"' in text else ["viewport"],
        "no skip link": [] if links[:1] == ["#content"] and "content" in ids else links[:1],
        "tables without a caption": len(page.all("table")) != len(page.all("caption")),
        "heads without a scope": scopes - {"col", "row", "rowgroup"},
        "ids twice": {i for i in ids if ids.count(i) > 1},
        "targets missing": wanted - set(ids),
        "scrolls without focus": [a for a in scrolling if a.get("tabindex") != "0"],
        "scrolls without a name": [
            a for a in scrolling if not a.keys() & {"aria-labelledby", "aria-label"}
        ],
        "headings skip": [
            pair for pair in pairwise(levels) if pair[1] - pair[0] > 1 or levels.count(1) != 1
        ],
    }
    return [f"{name}: {value}" for name, value in by_kind.items() if value]


def lost_links(pages: dict[str, str]) -> list[str]:
    """Return the links from one of these pages to a missing place of another."""
    ids = {
        name: {a["id"] for _, a in Page(text).elements if "id" in a} for name, text in pages.items()
    }
    return [
        f"{name}: {link['href']}"
        for name, text in pages.items()
        for link in Page(text).all("a")
        for other, mark, place in [link["href"].partition("#")]
        if other and mark and place not in ids.get(other, set())
    ]
