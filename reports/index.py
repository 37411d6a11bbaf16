"""index.html: the state of a run on one page, with links to the pages that say more."""

from harness.bundle import Bundle
from reports.html import environment
from reports.page import Page
from reports.words import visible


def index(bundles: list[Bundle], pages: list[Page]) -> str:
    template = environment().get_template("index.html.j2")
    names = [visible(bundle.folder.resolve().name) for bundle in bundles]
    return template.render(ok=all(page.ok is not False for page in pages), pages=pages, names=names)
