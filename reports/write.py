"""Writes the report of bundles into a folder: a page a question, and index.html over them.

`summary_lines` is what the terminal shows.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.bundle import Bundle, read_finished
from harness.errors import InputError
from reports import skip_ratio, throughput, throughput_page
from reports.html import html
from reports.index import index
from reports.junit import junit
from reports.markdown import markdown
from reports.page import Page
from reports.section import report_of
from reports.terminal import summary_lines as summary_lines

FORMATS = ("json", "md", "html", "junit")


def write_report(bundles: list[Path], folder: Path, formats: list[str]) -> list[Path]:
    """The files written, page by page, in the order of the formats; index.html is the last.

    Raises InputError for a bundle that is unreadable, unfinished or contradicts itself, an unknown
    format, no bundle, no format, and a folder that cannot be written; then no file is touched.
    """
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"format {name!r}", "unknown", f"use {', '.join(FORMATS)}")
    if not bundles or not formats:
        raise InputError("report", f"no {'format' if bundles else 'bundle'} given", "name one")
    read = [read_finished(path) for path in bundles]
    pages = pages_of(read)
    texts = {
        page.file(name): page.texts[name]()
        for page in pages
        for name in dict.fromkeys(formats)
        if name in page.texts
    }
    if "html" in formats:
        texts["index.html"] = index(read, pages)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / name, text) for name, text in texts.items()]
    except OSError as error:
        raise InputError(folder, f"cannot write: {error.strerror}", "choose another -o") from None


def pages_of(bundles: list[Bundle]) -> list[Page]:
    """The pages that these bundles have something for; parity for all that do more than measure."""
    tested = [bundle for bundle in bundles if not bundle.measures_only]
    pages = [_parity(tested)] if tested else []
    found = throughput.report_of(bundles)
    pages += [throughput_page.page(found)] if found else []
    return [*pages, *_skip_ratio(bundles)]


def _parity(bundles: list[Bundle]) -> Page:
    report = report_of(bundles)
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(markdown, report),
        "html": partial(html, report),
        "junit": partial(junit, report, bundles),
    }
    return Page("parity", "Parity", report.ok, texts)


def _skip_ratio(bundles: list[Bundle]) -> list[Page]:
    report = skip_ratio.report_of(bundles)
    if report is None:
        return []
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(skip_ratio.markdown, report),
        "html": partial(skip_ratio.html, report),
    }
    return [Page("skip-ratio", "Skip ratio", report.ok, texts)]


def _write(path: Path, text: str) -> Path:
    """Whole or not at all: an older report stays until the new one is complete."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path
