"""The pages of bundles, in order: those that the rows of harness/rows name."""

from collections.abc import Iterator
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.rows import joined, load, records
from sampler_parity.reports.page import Page, ReadyPage

BundlePage = Page[list[Bundle], Any]


def every_page() -> list[BundlePage]:
    """Return every page of the report."""
    return [load(page) for page, _ in _rows()]


def pages_of(bundles: list[Bundle]) -> list[ReadyPage[list[Bundle], Any]]:
    """Return the pages that these bundles have something for. The module of a page whose records
    are in none of them is not loaded."""
    kinds = {kind for bundle in bundles for kind, results in bundle.records.items() if results}
    pages: list[BundlePage] = [load(page) for page, of in _rows() if not of or kinds & of]
    return [made for page in pages if (made := page.made(bundles)) is not None]


def _rows() -> Iterator[tuple[str, set[str]]]:
    """Yield where each page is, in order, and the kinds of records that it shows; none: all."""
    rows = [(row.page, {row.kind, *row.page.kinds}) for row in records().values() if row.page]
    rows += [(page, set[str]()) for page in joined("PAGES")]
    return ((page.page, kinds) for page, kinds in sorted(rows, key=lambda row: row[0].place))


def summary_lines(bundle: Bundle) -> list[str]:
    """Return what a run prints of a bundle: plain text, no markup. Raises InputError for a bundle
    whose parts do not fit together."""
    pages = pages_of([bundle])
    last = [last for made in pages if (last := made.summary.last)]
    return [*(line for made in pages for line in made.terminal_lines), *last]
