"""A page of the report, before and after its bundles are read.

Every page is one `Page` in reports/pages/NAME.py, or NAME/NAME_page.py if it has several files: a
function that builds the model, which is its JSON, and functions of that model. The writers make all
other formats.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from sampler_parity.reports.document import Document, JunitTest
from sampler_parity.reports.summary import PageSummary
from sampler_parity.reports.writers.html import html
from sampler_parity.reports.writers.junit import junit
from sampler_parity.reports.writers.markdown import markdown
from sampler_parity.reports.writers.terminal import terminal_lines

Source = TypeVar("Source")  # what a page is made from: bundles, a history, or the other pages
Model = TypeVar("Model", bound=BaseModel)
_ENDING = {"junit": "junit.xml"}


@dataclass(frozen=True)
class Page(Generic[Source, Model]):
    """A page, before anything is read.

    stem: the name of its files. answers: the question that it answers. build: returns None if the
    bundles hold nothing for it. summary: its result for index.html and the terminal. junit_tests:
    None if it has no such file. missed: whether index.html reports that the page is missing.
    """

    stem: str
    title: str
    answers: str
    model: type[Model]
    build: Callable[[Source], Model | None]
    document: Callable[[Model], Document]
    summary: Callable[[Model], PageSummary]
    junit_tests: Callable[[Source, Model], Iterable[JunitTest]] | None = None
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
        document = self.page.document(self.model)
        return markdown(document) if name == "md" else html(document)
