"""The targets of the links of a built site, and the files that its pages fetch."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# Elements whose address a browser fetches by itself; a <link> is one where it is no mere relation.
_FETCHED = {"script", "img", "iframe", "source", "audio", "video", "embed", "object"}
_RELATIONS = {"next", "prev", "index", "search", "author", "canonical", "license"}
_HOST = re.compile(r"(?:https?:)?//")
_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^)\"'\s]+)")


@dataclass
class _Page(HTMLParser):
    """The links of a page, the files that it fetches, and its anchors."""

    targets: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.places |= {named[key] for key in ("id", "name") if named.get(key)}
        address = named.get("href") or named.get("src") or named.get("data") or ""
        relation = set(named.get("rel", "").split())
        if tag in _FETCHED or (tag == "link" and not relation & _RELATIONS):
            self.fetched.append(address)
        if address:
            self.targets.append(address)


def problems(site: Path) -> list[str]:
    """Return a line for every dead link, and for everything that is fetched from another host."""
    files = sorted(site.rglob("*.html"))
    pages = {path.resolve(): _read(path) for path in files}
    lines = []
    for path, page in pages.items():
        own = path.relative_to(site.resolve()).as_posix()
        lines += [f"{own}: fetches {one}" for one in page.fetched if _HOST.match(one)]
        lines += [f"{own}: {why}" for one in page.targets if (why := _lost(path, one, pages))]
    for path in sorted(site.rglob("*.css")):
        asked = _STYLES.findall(path.read_text(encoding="utf-8"))
        lines += [f"{path.relative_to(site).as_posix()}: fetches {one}" for one in asked]
    return list(dict.fromkeys(lines))


def _read(path: Path) -> _Page:
    page, text = _Page(), path.read_text(encoding="utf-8")
    page.feed(text)
    page.fetched += _STYLES.findall("".join(re.findall(r"(?s)<style.*?</style>", text)))
    return page


def _lost(path: Path, address: str, pages: dict[Path, _Page]) -> str:
    """Return why a link is dead; "" if it works, or leaves the site."""
    if re.match(r"[a-z]+:|//", address):
        return ""
    file, _, place = unquote(address).partition("#")
    target = (path.parent / file.partition("?")[0]).resolve() if file else path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return f"no file {address}"
    if place and target in pages and place not in pages[target].places:
        return f"no place {address}"
    return ""
