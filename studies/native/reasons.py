"""The checked list of what no suite reaches, with its reasons: unreached.toml.

An entry names lines by file, function and text, `*` standing for any text. Each of its texts must
still be that of a line that no suite reaches (`branches`: of a reached line with a way out that is
never taken); if not, it is stale.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.strict import STRICT
from studies.native.counts import Line

LIST = Path(__file__).parent / "unreached.toml"


class Entry(BaseModel):
    """lines, branches: texts of the source; neither: functions of which no line is reached."""

    model_config = STRICT

    file: str
    function: str
    lines: list[str] = []
    branches: list[str] = []
    why: str


@dataclass(frozen=True)
class Judged:
    """unlisted: lines that no suite reaches and no entry names. reasons: of lines, by place, and
    `ways`: of lines whose untaken branches have one."""

    unlisted: list[Line]
    stale: list[str]
    reasons: dict[tuple[str, int], str]
    ways: dict[tuple[str, int], str]


def read(path: Path = LIST) -> list[Entry]:
    """Read the entries. Raises InputError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(list[Entry]).validate_python(data.get("unreached", []))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise InputError(path, f"is no list of what is unreached: {error}") from None


def judge(lines: Iterable[Line], entries: list[Entry]) -> Judged:
    """Compare each unreached line and untaken branch with the entries; the first match counts."""
    lines = list(lines)
    called = {(line.file, line.function) for line in lines if line.count}
    used: set[tuple[int, str]] = set()
    reasons, ways = {}, {}
    unlisted = []
    for line in lines:
        place = (line.file, line.number)
        if line.count == 0:
            whole = (line.file, line.function) not in called
            why = _named(line, entries, used, branches=False, whole=whole)
            if why is None:
                unlisted.append(line)
            else:
                reasons[place] = why
        elif 0 in line.branches:
            why = _named(line, entries, used, branches=True, whole=False)
            if why is not None:
                ways[place] = why
    stale = [
        f"{entry.file}, {entry.function}: {text}"
        for i, entry in enumerate(entries)
        for text in _texts(entry)
        if (i, text) not in used
    ]
    return Judged(unlisted, stale, reasons, ways)


def _texts(entry: Entry) -> list[str]:
    lines = [f"line {text!r}" for text in entry.lines]
    branches = [f"branch {text!r}" for text in entry.branches]
    return lines + branches or ["the whole function"]


def _named(
    line: Line, entries: list[Entry], used: set[tuple[int, str]], branches: bool, whole: bool
) -> str | None:
    for i, entry in enumerate(entries):
        if entry.file != line.file or not _matches(entry.function, line.function):
            continue
        if whole and not entry.lines and not entry.branches:
            used.add((i, "the whole function"))
            return entry.why
        kind, texts = ("branch", entry.branches) if branches else ("line", entry.lines)
        for text in texts:
            if _matches(text, line.text):
                used.add((i, f"{kind} {text!r}"))
                return entry.why
    return None


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
