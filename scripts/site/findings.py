"""Read the numbered findings of docs/, one by one.

A finding is a heading with a number: its text describes it, with the commands that replay it.
docs/findings/status.md lists its users, versions and state; studies/findings/programs.toml lists
the programs that show it alone. The table at the top of docs/findings.md has the project of each
entry, a summary of one sentence, and the severity.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError

# By page of docs/: the names of its findings in the status, in addresses and in programs.toml.
SOURCES = {
    "findings.md": ("", "findings"),
    "findings/akunu.md": ("akunu", "akunu"),
    "findings/power-law.md": ("power-law", "power_law"),
}
STATUS = "findings/status.md"
PROGRAMS = Path("studies") / "findings" / "programs.toml"
SEVERITIES = ("wrong", "crash", "surprise")
_HEADING = re.compile(r"(?m)^## (?:(\d+)\. )?(.*)$")
_ROW = re.compile(r"(?m)^\| \[(\d+)\]\(#([^)]+)\) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$")
_CASE = re.compile(r"sampler-parity run (\S+)[^\n]*?--case (\"[^\"]+\"|'[^']+'|\S+)")


@dataclass(frozen=True)
class ListedFinding:
    """key: "7" or "akunu 3". anchor: its place on the page. programs: below studies/findings;
    without one, why_none has the reason."""

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


def read(root: Path) -> list[ListedFinding]:
    """Return the findings in page order. Raises InputError where pages and status disagree."""
    path = root / "docs" / STATUS
    status = _status(path)
    programs = tomllib.loads(text) if (text := _text(root / PROGRAMS)) else {}
    findings = [
        one
        for page, (prefix, table) in SOURCES.items()
        for one in _of_page(root / "docs", page, prefix, status, programs.get(table, {}))
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
            raise InputError(path, f"row {cells[0]!r}: twice, or not four cells", "fix the row")
        rows[cells[0]] = (cells[1], cells[2], cells[3])
    return rows


def _of_page(
    docs: Path,
    page: str,
    prefix: str,
    status: dict[str, tuple[str, str, str]],
    programs: dict[str, dict[str, object]],
) -> list[ListedFinding]:
    path = docs / page
    text = path.read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    summaries = {row[1]: f"{row[4]}\n\n" for row in _ROW.finditer(text)}
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
            ListedFinding(
                key=key,
                title=heading[2],
                body=summaries.get(heading[1], "") + text[heading.end() : end].strip("\n"),
                page=page,
                anchor=anchor(heading[0].removeprefix("## ")),
                concerns=concerns,
                seen=seen,
                state=state,
                programs=tuple(map(str, names)) if isinstance(names, list) else (),
                why_none=str(shown.get("none", "")),
            )
        )
    return findings


def problems(page: str) -> list[str]:
    """Return one line for each entry or table row of docs/findings.md that is missing or wrong."""
    found = []
    rows = {row[1]: row for row in _ROW.finditer(page)}
    headings = {one[1]: one[0] for one in _HEADING.finditer(page) if one[1] is not None}
    for key, row in rows.items():
        _, place, _, summary, severity = row.groups()
        if key not in headings or place != anchor(headings[key].removeprefix("## ")):
            found.append(f"finding {key}: its row leads to no entry: #{place}")
        if severity not in SEVERITIES:
            found.append(f"finding {key}: severity {severity!r}, not {SEVERITIES}")
        if not summary.endswith(".") or ". " in summary:
            found.append(f"finding {key}: the summary is not one sentence: {summary}")
    found += [f"finding {key}: has no row in the table" for key in headings if key not in rows]
    if list(rows) != list(headings) and not found:
        found.append("the rows of the table are not in the order of the entries")
    return found


def anchor(heading: str) -> str:
    """Return the anchor that GitHub and Sphinx give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
