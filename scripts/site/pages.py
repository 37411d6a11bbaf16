"""A page of Markdown for each finding, and one over them; Sphinx makes them part of the site."""

import json
import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import expand, read_suite
from sampler_parity.harness.suite.ids import shipped
from scripts.site.findings import PROGRAMS, ListedFinding

SHOWN = 3  # cases of a finding; the commands of its text replay all
LOGITS = 16
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_LANGUAGE = {".py": "python", ".mjs": "js", ".cpp": "c++", ".c": "c"}


def write(findings: Sequence[ListedFinding], root: Path, folder: Path) -> None:
    """Write findings/KEY.md of each, and findings/index.md."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {(one.page, one.anchor): f"{one.stem}.md" for one in findings}
    for one in findings:
        text = page(one, places, root)
        (folder / f"{one.stem}.md").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text(index(findings), encoding="utf-8")


def page(finding: ListedFinding, places: dict[tuple[str, str], str], root: Path) -> str:
    """Return a page: first the text of docs/, then the cases and programs that show it."""
    source = f"../docs/{finding.page}#{finding.anchor}"
    lines = [
        f"# {name(finding)}. {finding.title}",
        "",
        "| | |",
        "| --- | --- |",
        f"| Concerns you if you | {finding.concerns} |",
        f"| Seen in | {finding.seen} |",
        f"| State | {finding.state} |",
        f"| Among the others | [{finding.page.removesuffix('.md')}]({source}) |",
        "",
        "## What and why",
        "",
        linked(finding.body, finding.page, places),
        "",
        *_cases(finding),
        *_programs(finding, root),
    ]
    return "\n".join(lines)


def name(finding: ListedFinding) -> str:
    """Return the number in the heading, with the engine's name for lists other than llama.cpp's."""
    prefix, _, number = finding.key.rpartition(" ")
    return f"{prefix} {number}".strip().capitalize()


def linked(text: str, page: str, places: dict[tuple[str, str], str]) -> str:
    """Rewrite the links of a page of docs/ for findings/: a finding gets its own page."""

    def moved(link: re.Match[str]) -> str:
        file, _, anchor = link[1].partition("#")
        if "://" in file:
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), file)) if file else page
        if (own := places.get((path, anchor))) is not None:
            return f"]({own})"
        return f"]({posixpath.normpath(f'../docs/{path}')}{'#' if anchor else ''}{anchor})"

    return _LINK.sub(moved, text)


def _cases(finding: ListedFinding) -> list[str]:
    cases = [case for suite, pattern in finding.cases for case in _matching(suite, pattern)]
    if not cases:
        return []
    lines = ["## Shrunk cases" if len(cases) > 1 else "## Shrunk case", ""]
    for case in cases[:SHOWN]:
        lines += ["```", *_lines_of(case), "```", ""]
    more = len(cases) - SHOWN
    return [*lines, f"{more} more by the commands above.", ""] if more > 0 else lines


@cache
def _expanded(suite: str) -> list[Any]:
    path = shipped().get(suite)
    return list(expand(read_suite(path), "full")) if path else []


def _matching(suite: str, pattern: str) -> list[Any]:
    """Return the cases of a suite, or of all suites below a folder."""
    names = [one for one in shipped() if one == suite or one.startswith(f"{suite}/")]
    return [
        case
        for one in names
        for case in _expanded(one)
        if fnmatchcase(getattr(case, "id", ""), pattern) and hasattr(case, "chain")
    ]


def _lines_of(case: Any) -> list[str]:
    """Return the lines of a case: chain, logits and requirement, in the words of a suite."""
    logits = case.logits.model_dump(exclude_defaults=True) if case.logits else {}
    values = logits.pop("values", None)
    if values is not None:
        tail = f", ... ({len(values)} in all)" if len(values) > LOGITS else ""
        logits = f"[{', '.join(f'{v:g}' for v in values[:LOGITS])}{tail}]"
    lines = [f"case     {case.id}", f"what     {case.description}"]
    lines += [f"why      {case.why}"] if case.why else []
    lines += [f"chain    {json.dumps(stage)}" for stage in case.chain]
    lines.append(f"logits   {logits if isinstance(logits, str) else json.dumps(logits)}")
    expect = getattr(case, "expect", None)  # not every kind of case has one
    if expect is not None:
        lines.append(f"expected {json.dumps(expect.model_dump(exclude_defaults=True))}")
    return lines


def _programs(finding: ListedFinding, root: Path) -> list[str]:
    several = len(finding.programs) > 1
    lines = ["## Programs that stand alone" if several else "## A program that stands alone", ""]
    if not finding.programs:
        return [*lines, finding.why_none or "There is none yet.", ""]
    for file in finding.programs:
        path = root / PROGRAMS.parent / file
        if not path.is_file():
            fix = f"write it, or fix {PROGRAMS.as_posix()}"
            raise InputError(path, f"finding {finding.key} has no such program", fix)
        language = _LANGUAGE.get(path.suffix, "")
        text = path.read_text(encoding="utf-8").rstrip("\n")
        shown = f"`{(PROGRAMS.parent / file).as_posix()}`: expected and got, exit status 1 while"
        lines += [f"{shown} the finding is there.", "", f"```{language}", text, "```", ""]
    return lines


def index(findings: Sequence[ListedFinding]) -> str:
    rows = [
        f"| [{name(one)}. {one.title}]({one.stem}.md) | {one.state} | {one.concerns} |"
        for one in findings
    ]
    stems = [one.stem for one in findings]
    of_programs = sum(one.key.isdigit() for one in findings)
    return "\n".join(
        [
            "# Findings, one by one",
            "",
            f"{len(findings)} real divergences and surprises, each with the command that replays",
            f"it: {of_programs} of programs that people run, the others of two documents about",
            "samplers, Akunu's and power_law's. Open: not reported to its makers yet; meant: a",
            "difference and no defect; claim: a sentence that measurement does not bear out. What",
            "stands in the tables of [tsampler](../docs/findings/tsampler.md) and the",
            "[token trie](../docs/findings/token-trie.md) is not among them.",
            "",
            "| finding | state | concerns you if you |",
            "| --- | --- | --- |",
            *rows,
            "",
            "```{toctree}",
            ":hidden:",
            ":maxdepth: 1",
            "",
            *stems,
            "```",
            "",
        ]
    )
