"""Writes the report of bundles into a folder: a page a question, and index.html over them.

Which pages there are is in reports/page.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.errors import InputError, cannot_write, need
from sampler_parity.harness.processes.phase import phase
from sampler_parity.reports.page import ReadyPage, every_page, pages_of
from sampler_parity.reports.pages.index.index_model import Overview
from sampler_parity.reports.pages.index.index_page import INDEX
from sampler_parity.reports.writers.html import linked

FORMATS = ("json", "md", "html", "junit", "sarif")


@phase("writing the report")
def write_report(bundles: list[Path], folder: Path, formats: list[str]) -> list[Path]:
    """Write all pages and return the files, page by page, in the order of the formats; index.html
    is the last.

    Raises InputError for a bundle that is unreadable, unfinished or contradicts itself, an unknown
    format, no bundle, no format, and a folder that cannot be written; then no file is touched.
    """
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"format {name!r}", "unknown", f"use {', '.join(FORMATS)}")
    if not bundles or not formats:
        raise InputError("report", f"no {'format' if bundles else 'bundle'} given", "name one")
    if "html" in formats:
        need("report", "HTML", "write -f md -f json -f junit")
    read = [read_finished(path) for path in bundles]
    pages = pages_of(read)
    stems = {ready.page.stem for ready in pages}
    missing = [page.title for page in every_page() if page.missed and page.stem not in stems]
    overview = INDEX.made(Overview(read, pages, missing))
    assert overview is not None
    last = sorted(set(formats), key=lambda name: (name == "html", name))
    texts = _texts(pages, formats) | _texts([overview], last)
    everything: list[ReadyPage[Any, Any]] = [overview, *pages]
    menu = [(made.page.stem, made.page.title) for made in everything]
    for made in everything:
        if (name := made.file("html")) in texts:
            texts[name] = linked(texts[name], menu, made.page.stem)
    return write_texts(folder, texts)


def write_page(page: ReadyPage[Any, Any], folder: Path) -> list[Path]:
    """Write one page alone, in every format that it has, as commands of several bundles do. Raises
    InputError where what writes HTML is not installed."""
    need("report", "HTML")
    return write_texts(folder, _texts([page], ("json", "md", "html")))


def _texts(pages: Sequence[ReadyPage[Any, Any]], formats: Sequence[str]) -> dict[str, str]:
    """Return the texts of pages by file."""
    return {
        made.file(name): text
        for made in pages
        for name in dict.fromkeys(formats)
        if (text := made.text(name)) is not None
    }


def write_texts(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Write files by name, each whole or not at all. Raises InputError where one cannot be
    written."""
    try:
        disk.make_folder(folder)
        for name, text in texts.items():
            disk.write_whole(folder / name, text.encode())
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    return [folder / name for name in texts]
