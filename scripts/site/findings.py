"""The findings of docs/findings*.md, one by one.

A finding is a heading with a number: its text is what and why, with the commands that replay it.
docs/findings-status.md has whom it concerns, where it was seen and what its makers know; the
programs that show it alone stand in studies/findings/programs.toml.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError

# By page of docs/: what its findings are called in the status, in addresses and in programs.toml.
SOURCES = {
    "findings.md": ("", "findings"),
    "findings-akunu.md": ("akunu", "akunu"),
    "findings-power-law.md": ("power-law", "power_law"),
}
STATUS = "findings-status.md"
PROGRAMS = Path("studies") / "findings" / "programs.toml"
_HEADING = re.compile(r"(?m)^## (?:(\d+)\. )?(.*)$")
_CASE = re.compile(r"sampler-parity run (\S+)[^\n]*?--case (\"[^\"]+\"|'[^']+'|\S+)")


@dataclass(frozen=True)
class Finding:
    """key: "7" or "akunu 3". anchor: its place on the page. programs: below studies/findings;
    without one, why_none says why."""

    key: str
    title: str
    body: str
    page: str
    anchor: str
    concerns: str
    seen: str
    state: str
    programs: tuple[str, ...] = ()
    why_none: str = ""

    @property
    def stem(self) -> str:
        return self.key.replace(" ", "-")

    @property
    def cases(self) -> list[tuple[str, str]]:
        """Suite and pattern of the cases that replay it."""
        return [(suite, pattern.strip("\"'")) for suite, pattern in _CASE.findall(self.body)]


def read(root: Path) -> list[Finding]:
    """In the order of their pages. Raises InputError where pages and status disagree."""
    path = root / "docs" / STATUS
    status = _status(path)
    programs = tomllib.loads(text) if (text := _text(root / PROGRAMS)) else {}
    findings = [
        one
        for page, (prefix, table) in SOURCES.items()
        for one in _of_page(root / "docs" / page, prefix, status, programs.get(table, {}))
    ]
    if unknown := status.keys() - {one.key for one in findings}:
        raise InputError(path, f"{sorted(unknown)[0]!r} is no finding", "remove its row")
    return findings


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _status(path: Path) -> dict[str, tuple[str, str, str]]:
    rows: dict[str, tuple[str, str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "finding" or set(line) <= set("|- "):
            continue
        if len(cells) != 4 or not all(cells) or cells[0] in rows:
            raise InputError(path, f"row {cells[0]!r}: twice, or not four cells", "mend the row")
        rows[cells[0]] = (cells[1], cells[2], cells[3])
    return rows


def _of_page(
    path: Path,
    prefix: str,
    status: dict[str, tuple[str, str, str]],
    programs: dict[str, dict[str, object]],
) -> list[Finding]:
    text = path.read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    findings = []
    for heading, end in zip(headings, ends, strict=True):
        if heading[1] is None:
            continue
        key = f"{prefix} {heading[1]}".strip()
        if key not in status:
            fix = f"add a row to docs/{STATUS}"
            raise InputError(path, f"finding {key} has no status", fix)
        concerns, seen, state = status[key]
        shown = programs.get(heading[1], {})
        names = shown.get("programs", [])
        findings.append(
            Finding(
                key=key,
                title=heading[2],
                body=text[heading.end() : end].strip("\n"),
                page=path.name,
                anchor=anchor(heading[0].removeprefix("## ")),
                concerns=concerns,
                seen=seen,
                state=state,
                programs=tuple(map(str, names)) if isinstance(names, list) else (),
                why_none=str(shown.get("none", "")),
            )
        )
    return findings


def anchor(heading: str) -> str:
    """The place that GitHub and Sphinx give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
