"""Measured results: reports of the bundles that are there, the history, and badges.

A badge is a file for shields.io's endpoint (https://shields.io/badges/endpoint-badge): a host that
shows one reads it from the site; the site itself sends no request.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.comparison import history
from sampler_parity.reports.pages.history import HISTORY
from sampler_parity.reports.write import write_page, write_report
from scripts.site.findings import ListedFinding

FORMATS = ["html", "json"]


@dataclass(frozen=True)
class Set:
    """Bundles that one command makes. page: the one of their report that answers `title`."""

    name: str
    title: str
    command: str
    page: str


SETS = (
    Set("engines", "Engines", "make engines", "matrix"),
    Set("drift", "Releases of llama.cpp", "make drift", "parity"),
    Set("platforms", "Platforms", "make platforms", "parity"),
    Set("parity", "llama.cpp as it is installed", "make parity", "index"),
    Set("servers", "Servers", "make servers", "servers"),
)


@dataclass(frozen=True)
class MeasuredSet:
    """index: the contents of its report's index.json; None if no bundle is there."""

    of: Set
    started: str = ""
    index: dict[str, Any] | None = None
    page: str = "index"


def bundles_of(folder: Path) -> list[Path]:
    """Return a bundle, or the bundles in a folder."""
    if (folder / "run.json").is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/run.json"))


def reported(bundles: Path, extra: Path) -> list[MeasuredSet]:
    """Write the report of each set that is there into extra/reports. Raises InputError for a
    bundle that is unfinished or torn."""
    measured = []
    for of in SETS:
        folders = bundles_of(bundles / of.name)
        if not folders:
            measured.append(MeasuredSet(of))
            continue
        report = extra / "reports" / of.name
        write_report(folders, report, FORMATS)
        index = json.loads((report / "index.json").read_text(encoding="utf-8"))
        started = max(read_finished(folder).info.started for folder in folders)
        page = of.page if (report / f"{of.page}.html").is_file() else "index"
        measured.append(MeasuredSet(of, started, index, page))
    return measured


def trended(bundles: Path, database: Path, extra: Path) -> bool:
    """Write the history's page from history.sqlite or the bundles; return whether it did."""
    folders = [one for of in SETS for one in bundles_of(bundles / of.name)]
    if not database.is_file() and not folders:
        return False
    with tempfile.TemporaryDirectory() as folder:
        if not database.is_file():
            database = Path(folder) / "history.sqlite"
            history.add(database, folders)
        made = HISTORY.made(database)
        assert made is not None
        write_page(made, extra / "reports" / "history")
    return True


def badges(measured: Sequence[MeasuredSet], findings: Sequence[ListedFinding], extra: Path) -> None:
    folder = extra / "badges"
    folder.mkdir(parents=True, exist_ok=True)
    still = sum(one.state.startswith("open") for one in findings)
    every = {one.of.name: _badge(one) for one in measured}
    every["findings"] = _of("findings", f"{len(findings)}, {still} open", "blue")
    for name, badge in every.items():
        text = json.dumps(badge, indent=1) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def _badge(one: MeasuredSet) -> dict[str, Any]:
    label = f"sampler-parity {one.of.name}"
    if one.index is None:
        return _of(label, "not measured", "lightgrey")
    met, cases = counts(one.index)
    if not cases:
        return _of(label, _in_words(one.index), _colour(one.index["ok"]))
    return _of(label, f"{met:,}/{cases:,} as required", _colour(one.index["ok"] and met == cases))


def counts(index: dict[str, Any]) -> tuple[int, int]:
    """Return how many cases met their requirements, and all, over every backend that ran."""
    rows = index["backends"]
    return sum(row["met"] for row in rows), sum(row["cases"] for row in rows)


def _in_words(index: dict[str, Any]) -> str:
    """Describe results that are no cases, those of servers."""
    return "as required" if index["ok"] else "not as required"


def _colour(good: bool) -> str:
    return "brightgreen" if good else "red"


def _of(label: str, message: str, colour: str) -> dict[str, Any]:
    return {"schemaVersion": 1, "label": label, "message": message, "color": colour}


def page(measured: Sequence[MeasuredSet], trend: bool, night: bool = False) -> str:
    lines = [
        "# Measured: engines, releases, platforms",
        "",
        "| | cases as required | measured | |",
        "| --- | --- | --- | --- |",
        *map(_row, measured),
        _history(trend),
        *(["| Since the night before | | | [what changed](night.md) |"] if night else []),
        "",
        "A number is of all backends of a set together; its page has them one by one, with every",
        "difference, its reason and the command that replays it.",
        "",
        "## Badges",
        "",
        "For each row, and for the findings, [shields.io's endpoint](https://shields.io/badges/endpoint-badge)",
        "reads `badges/NAME.json` next to this folder:",
        "",
        "```",
        "https://img.shields.io/endpoint?url=https://HOST/badges/engines.json",
        "```",
        "",
        *(["```{toctree}", ":hidden:", "", "night", "```", ""] if night else []),
    ]
    return "\n".join(lines)


def _row(one: MeasuredSet) -> str:
    if one.index is None:
        return f"| {one.of.title} | not measured here | | `{one.of.command}` makes it |"
    met, cases = counts(one.index)
    numbers = f"{met:,}/{cases:,}" if cases else _in_words(one.index)
    link = f'<a href="../reports/{one.of.name}/{one.page}.html">{one.page}</a>'
    every = f', <a href="../reports/{one.of.name}/index.html">all</a>'
    return f"| {one.of.title} | {numbers} | {one.started[:10]} | {link}{every} |"


def _history(trend: bool) -> str:
    if not trend:
        return "| History | not measured here | | `sampler-parity history add BUNDLE` makes it |"
    return '| History | | | <a href="../reports/history/history.html">charts</a> |'
