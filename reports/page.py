"""A page of the report, before and after its bundles are read, with its result.

Every page is one `Page` in reports/pages/NAME.py, or NAME/NAME_page.py if it has several files: a
function that builds the model, which is its JSON, and functions of that model. The writers make all
other formats. A page's result is its findings and the map of samplers for index.html, and its lines
for the terminal. The rows that harness/rows joins name the pages of bundles, in order.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.failures.groups import Small
from sampler_parity.harness.rows import joined, load, records
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.document import Document, JunitTest
from sampler_parity.reports.writers.ci import junit, markdown
from sampler_parity.reports.writers.html import html


class PageFinding(Strict):
    """A line of index.html. anchor: the id of its place on its page, the same from run to run.
    id: of the kind of finding, as policies name it. files: of the backend, for tools that show a
    finding in a file.

    fails: it fails the page; else it is a note. replay: the command that runs an example again, or
    "". minimized: the smallest input found that shows it.
    """

    text: str
    anchor: str
    id: str = ""
    files: list[str] = []
    fails: bool = True
    replay: str = ""
    minimized: Small | None = None


class HeatCell(Strict):
    """A sampler on a backend: of `cases` that were judged, so many fail, and so many more are not
    identical, as allowed. worst, anchor: of the worst group of those that fail; None, ""."""

    cases: int
    failing: int
    allowed: int
    skipped: int
    worst: Verdict | None
    anchor: str


class HeatRow(Strict):
    """cells: by the backends of the map."""

    sampler: str
    cells: list[HeatCell]


class HeatMap(Strict):
    """stem: the page that the anchors are on. rows: where most fails first."""

    stem: str
    backends: list[str]
    rows: list[HeatRow]


@dataclass(frozen=True)
class PageSummary:
    """ok: None where the page only measures. headlines: what it comes to, a line each. lines: what
    a run prints of it, last: at the very end. findings, heat_map: what stands above the rest in
    index.html."""

    ok: bool | None
    headlines: Sequence[str]
    lines: Sequence[str] = ()
    last: str = ""
    findings: Sequence[PageFinding] = ()
    heat_map: HeatMap | None = None


def terminal_lines(summary: PageSummary) -> list[str]:
    """Return its lines, each on one line, whatever text a backend sent."""
    return [line.replace("\n", " ").replace("\t", " ") for line in summary.lines]


def anchor(*names: str, of: int = 0, among: int = 1) -> str:
    """Return an id for what has these names: letters, digits, dots and dashes, the same from run to
    run.

    of, among: its bundle, where a page is of several: names may come again in another one.
    """
    exact = "\n".join(names)
    slug = re.sub(r"[^a-z0-9_.]+", "-", "-".join(names).lower())[:80].strip("-")
    bundle = f"b{of + 1}-" if among > 1 else ""
    return f"{bundle}{slug}-{hashlib.sha256(exact.encode()).hexdigest()[:6]}"


Source = TypeVar("Source")  # what a page is made from: bundles, a history, or the other pages
Model = TypeVar("Model", bound=BaseModel)
_ENDING = {"junit": "junit.xml"}


@dataclass(frozen=True)
class Page(Generic[Source, Model]):
    """A page, before anything is read.

    stem: the name of its files. answers: the question that it answers. build: returns None if the
    bundles hold nothing for it. summary: its result for index.html and the terminal. junit_tests:
    None if it has no such file. sarif: its findings as SARIF, which index alone has. missed:
    whether index.html reports that the page is missing.
    """

    stem: str
    title: str
    answers: str
    model: type[Model]
    build: Callable[[Source], Model | None]
    document: Callable[[Model], Document]
    summary: Callable[[Model], PageSummary]
    junit_tests: Callable[[Source, Model], Iterable[JunitTest]] | None = None
    sarif: Callable[[Model], str] | None = None
    missed: bool = True

    def made(self, source: Source) -> "ReadyPage[Source, Model] | None":
        """Return None if there is nothing to show. Raises InputError if the source cannot be
        read."""
        model = self.build(source)
        return None if model is None else ReadyPage(self, source, model)


@dataclass(frozen=True)
class ReadyPage(Generic[Source, Model]):
    """A page with content."""

    page: Page[Source, Model]
    source: Source
    model: Model

    @property
    def summary(self) -> PageSummary:
        return self.page.summary(self.model)

    @property
    def terminal_lines(self) -> list[str]:
        return terminal_lines(self.summary)

    def file(self, name: str) -> str:
        """Return the name of its file in a format."""
        return f"{self.page.stem}.{_ENDING.get(name, name)}"

    def text(self, name: str) -> str | None:
        """Return its text in a format; None where the page has no such format."""
        if name == "json":
            return self.model.model_dump_json(indent=1) + "\n"
        if name == "junit":
            tests = self.page.junit_tests
            return junit(tests(self.source, self.model)) if tests else None
        if name == "sarif":
            return self.page.sarif(self.model) if self.page.sarif else None
        document = self.page.document(self.model)
        return markdown(document) if name == "md" else html(document)


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
