"""Writes reports of bundles into a folder. `summary_lines` is what the terminal shows."""

import os
from collections.abc import Callable
from pathlib import Path

from harness.bundle import Bundle, read_finished
from harness.errors import InputError
from reports.html import html
from reports.junit import junit
from reports.markdown import markdown
from reports.model import Report
from reports.section import report_of
from reports.terminal import summary_lines as summary_lines

FILES = {
    "json": "parity.json",
    "md": "parity.md",
    "html": "parity.html",
    "junit": "parity.junit.xml",
}
_RENDER: dict[str, Callable[[Report, list[Bundle]], str]] = {
    "json": lambda report, bundles: report.model_dump_json(indent=1) + "\n",
    "md": lambda report, bundles: markdown(report),
    "html": lambda report, bundles: html(report),
    "junit": junit,
}


def write_report(bundles: list[Path], folder: Path, formats: list[str]) -> list[Path]:
    """The files written, in the order of the formats. One report holds all bundles.

    Raises InputError for a bundle that is unreadable, unfinished or contradicts itself, an unknown
    format, no bundle, no format, and a folder that cannot be written; then no file is touched.
    """
    for name in formats:
        if name not in FILES:
            raise InputError(f"format {name!r}", "unknown", f"use {', '.join(FILES)}")
    if not bundles or not formats:
        raise InputError("report", f"no {'format' if bundles else 'bundle'} given", "name one")
    read = [read_finished(path) for path in bundles]
    report = report_of(read)
    texts = {name: _RENDER[name](report, read) for name in dict.fromkeys(formats)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / FILES[name], text) for name, text in texts.items()]
    except OSError as error:
        raise InputError(folder, f"cannot write: {error.strerror}", "choose another -o") from None


def _write(path: Path, text: str) -> Path:
    """Whole or not at all: an older report stays until the new one is complete."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path
