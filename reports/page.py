"""What a page of the report is, and a page with something to say.

Every page is one `Page` in its own folder (reports/pages/NAME/page.py): from what it is made, the
model that is its JSON, and functions of that model for each other format.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from sampler_parity.reports.summary import Finding, HeatMap

Source = TypeVar("Source")  # what a page is made from: bundles, a history, or the other pages
Model = TypeVar("Model", bound=BaseModel)
_ENDING = {"junit": "junit.xml"}


def _nothing(model: Any) -> list[str]:
    return []


def _no_finding(model: Any) -> list[Finding]:
    return []


def _measures(model: Any) -> None:
    return None


@dataclass(frozen=True)
class Page(Generic[Source, Model]):
    """A page, before anything is read.

    stem: of its files. answers: the question that it is there for. build: None where there is
    nothing to say. ok: None where it only measures. headlines: what it comes to, a line each, for
    index.html; findings and heat_map: what stands above them there. terminal_lines: what a run
    prints of it; last_line: at the very end. missed: whether index.html says that there is no such
    page.
    """

    stem: str
    title: str
    answers: str
    model: type[Model]
    build: Callable[[Source], Model | None]
    html: Callable[[Model], str]
    markdown: Callable[[Model], str]
    terminal_lines: Callable[[Model], list[str]] = _nothing
    last_line: Callable[[Model], str] | None = None
    junit: Callable[[Source, Model], str] | None = None
    headlines: Callable[[Model], list[str]] = _nothing
    findings: Callable[[Model], list[Finding]] = _no_finding
    heat_map: Callable[[Model], HeatMap | None] = _measures
    ok: Callable[[Model], bool | None] = _measures
    missed: bool = True

    def made(self, source: Source) -> "Made[Source, Model] | None":
        """None where it has nothing to say. Raises InputError for what cannot be read."""
        model = self.build(source)
        return None if model is None else Made(self, source, model)


@dataclass(frozen=True)
class Made(Generic[Source, Model]):
    """A page with something to say."""

    page: Page[Source, Model]
    source: Source
    model: Model

    @property
    def ok(self) -> bool | None:
        return self.page.ok(self.model)

    @property
    def headlines(self) -> list[str]:
        return self.page.headlines(self.model)

    @property
    def findings(self) -> list[Finding]:
        return self.page.findings(self.model)

    @property
    def heat_map(self) -> HeatMap | None:
        return self.page.heat_map(self.model)

    @property
    def terminal_lines(self) -> list[str]:
        """Each on one line, whatever a backend said."""
        return [
            line.replace("\n", " ").replace("\t", " ")
            for line in self.page.terminal_lines(self.model)
        ]

    def file(self, name: str) -> str:
        """The name of its file in a format."""
        return f"{self.page.stem}.{_ENDING.get(name, name)}"

    def text(self, name: str) -> str | None:
        """Its text in a format; None where the page has no such format."""
        if name == "json":
            return self.model.model_dump_json(indent=1) + "\n"
        if name == "md":
            return self.page.markdown(self.model)
        if name == "html":
            return self.page.html(self.model)
        return self.page.junit(self.source, self.model) if self.page.junit else None
