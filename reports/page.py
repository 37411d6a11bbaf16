"""A page of the report: what it answers, whether that is in order, and its text by format."""

from collections.abc import Callable
from dataclasses import dataclass

_ENDING = {"junit": "junit.xml"}


@dataclass(frozen=True)
class Page:
    """stem: of its files. ok: None where a page only measures. texts: by format."""

    stem: str
    title: str
    ok: bool | None
    texts: dict[str, Callable[[], str]]

    def file(self, name: str) -> str:
        """The name of its file in a format."""
        return f"{self.stem}.{_ENDING.get(name, name)}"
