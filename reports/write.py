"""Writes the report of bundles into a folder: a page a question, and index.html over them.

`summary_lines` is what the terminal shows.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.errors import InputError
from sampler_parity.reports.pages.compare import build
from sampler_parity.reports.pages.index import build as index
from sampler_parity.reports.pages.parity.build import figures_of, report_of
from sampler_parity.reports.pages.parity.html import html
from sampler_parity.reports.pages.parity.junit import junit
from sampler_parity.reports.pages.parity.markdown import markdown
from sampler_parity.reports.pages.parity.terminal import summary_lines as summary_lines
from sampler_parity.reports.pages.skip_ratio import build as skip_ratio
from sampler_parity.reports.pages.throughput import build as throughput
from sampler_parity.reports.pages.throughput import html as throughput_page
from sampler_parity.reports.render.frame import Page, linked

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
    overview = _overview(read, pages)
    last = sorted(set(formats) & overview.texts.keys(), key=lambda name: (name == "html", name))
    texts |= {overview.file(name): overview.texts[name]() for name in last}
    for page in (*pages, overview):
        if (name := page.file("html")) in texts:
            texts[name] = linked(texts[name], pages, page.stem)
    return write_texts(folder, texts)


def write_texts(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Files by name. Raises InputError where the folder cannot be written."""
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
    return [*pages, *_skip_ratio(bundles), *_comparison(bundles)]


def _parity(bundles: list[Bundle]) -> Page:
    report = report_of(bundles)
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(markdown, report),
        "html": partial(html, report),
        "junit": partial(junit, report, bundles),
    }
    return Page("parity", "Parity", report.ok, texts, figures_of(report))


def _comparison(bundles: list[Bundle]) -> list[Page]:
    """Bundles beside each other; it judges nothing."""
    report = build.report_of(bundles) if len(bundles) > 1 else None
    if report is None:
        return []
    texts = build.texts_of(report)
    return [Page("compare", "Comparison", None, texts, [build.headline(report)])]


def _overview(bundles: list[Bundle], pages: list[Page]) -> Page:
    found = index.index_of(bundles, pages)
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: found.model_dump_json(indent=1) + "\n",
        "md": partial(index.markdown, found),
        "html": partial(index.html, found),
    }
    return Page("index", "Overview", found.ok, texts)


def _skip_ratio(bundles: list[Bundle]) -> list[Page]:
    report = skip_ratio.report_of(bundles)
    if report is None:
        return []
    texts: dict[str, Callable[[], str]] = {
        "json": lambda: report.model_dump_json(indent=1) + "\n",
        "md": partial(skip_ratio.markdown, report),
        "html": partial(skip_ratio.html, report),
    }
    figures = skip_ratio.figures_of(report)
    return [Page("skip-ratio", "Skip ratio", report.ok, texts, figures)]


def _write(path: Path, text: str) -> Path:
    """Whole or not at all: an older report stays until the new one is complete."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path
