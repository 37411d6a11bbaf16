"""What a page of the report is, and a page with something to say.

Every page is one `Page` in its own folder (reports/pages/NAME/page.py): how the model, which is its
JSON, is built, and functions of that model. The writers make every other format of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
class OldForms:
    """The formats of a page that has no document yet."""

    html: Callable[[Any], str]
    markdown: Callable[[Any], str]
    terminal_lines: Callable[[Any], list[str]] = lambda _: []
    last_line: Callable[[Any], str] | None = None
    junit: Callable[[Any, Any], str] | None = None
    headlines: Callable[[Any], list[str]] = lambda _: []
    findings: Callable[[Any], Any] = lambda _: []
    heat_map: Callable[[Any], Any] = lambda _: None
    ok: Callable[[Any], bool | None] = lambda _: None

    def summary(self, model: Any) -> PageSummary:
        one = len(getattr(model, "sections", [0])) == 1
        last = self.last_line(model) if self.last_line and one else ""
        parts = (self.headlines(model), self.terminal_lines(model) if one else [], last)
        return PageSummary(self.ok(model), *parts, self.findings(model), self.heat_map(model))


@dataclass(frozen=True)
class Page(Generic[Source, Model]):
    """A page, before anything is read.

    stem: of its files. answers: the question that it is there for. build: None where there is
    nothing to say. summary: what it comes to, for index.html and the terminal. junit_tests: None:
    it has no such file. missed: whether index.html says that there is no such page.
    """

    stem: str
    title: str
    answers: str
    model: type[Model]
    build: Callable[[Source], Model | None]
    document: Callable[[Model], Document] | None = None
    summary: Callable[[Model], PageSummary] | None = None
    junit_tests: Callable[[Source, Model], Iterable[JunitTest]] | None = None
    missed: bool = True
    old: OldForms | None = None

    def made(self, source: Source) -> "ReadyPage[Source, Model] | None":
        """Return None where it has nothing to say. Raises InputError for what cannot be read."""
        model = self.build(source)
        return None if model is None else ReadyPage(self, source, model)


@dataclass(frozen=True)
class ReadyPage(Generic[Source, Model]):
    """A page with something to say."""

    page: Page[Source, Model]
    source: Source
    model: Model

    @property
    def summary(self) -> PageSummary:
        of = self.page.old.summary if self.page.old else self.page.summary
        assert of is not None
        return of(self.model)

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
            if self.page.old:
                old = self.page.old.junit
                return old(self.source, self.model) if old else None
            tests = self.page.junit_tests
            return junit(tests(self.source, self.model)) if tests else None
        if self.page.old:
            return (self.page.old.markdown if name == "md" else self.page.old.html)(self.model)
        assert self.page.document is not None
        document = self.page.document(self.model)
        return markdown(document) if name == "md" else html(document)
