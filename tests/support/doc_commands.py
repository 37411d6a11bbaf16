"""The commands of README.md, CONTRIBUTING.md, SECURITY.md and docs/ that readers paste.

A command is a line of a block of code without a language whose first word is a program. A block
that begins with one holds only commands, one for each line (after `\\` it continues in the next).
In a block that begins with `$ `, only such lines are commands. Every other block is the output of a
program.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "engines").glob("*/README.md")),
]
_BEGINS = re.compile(
    r"(sampler-parity|make|pytest|python3?|\.venv/bin/python|pip|dask|docker|cd|\.|[A-Z]+=\S+)( |$)"
)
_SETS = re.compile(r"[A-Z]+=\S+$")
_CODE = re.compile(r"^```.*?^```|^    .*?$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^ *```(\w*)$")


@dataclass(frozen=True)
class Command:
    """A command of a page.

    page: its path from the root. text: without its comment, with one blank between words.
    """

    page: str
    text: str


def name_of(page: Path) -> str:
    """Return the path of a page from the root, as `docs/read-results.md`."""
    return page.relative_to(ROOT).as_posix()


def commands_of(page: Path) -> list[Command]:
    return [
        Command(name_of(page), text)
        for block in blocks(page.read_text(encoding="utf-8"))
        for text in commands_in(block)
    ]


def commands_in(block: list[str]) -> Iterator[str]:
    """Yield the commands of a block of code.

    Raises ValueError if a line is neither command nor output.
    """
    lines = re.sub(r"\\\n\s*", "", "\n".join(block)).split("\n")
    shown = [line[2:] for line in lines if line.startswith("$ ")]
    if not shown and not _BEGINS.match(lines[0]):
        if shutil.which(lines[0].split()[0]):
            raise ValueError(f"begins with a program that is not known: {lines[0]}")
        return
    sets = ""
    for line in shown or lines:
        if not _BEGINS.match(line):
            raise ValueError(f"stands among commands and is none: {line}")
        command = " ".join(without_comment(line).split())
        if _SETS.match(command):
            sets += f"{command}; "
        else:
            yield sets + command


def without_comment(line: str) -> str:
    return re.sub(r"\s+#.*$", "", line)


def blocks(text: str) -> Iterator[list[str]]:
    """Yield blocks of code without a language; a blank line ends a block."""
    block: list[str] = []
    language: str | None = None
    before = ""
    for line in [*text.split("\n"), ""]:
        fence = _FENCE.match(line)
        if fence:
            language = fence[1] if language is None else None
        indented = language is None and line.startswith("    ") and (block or not before.strip())
        if not fence and line.strip() and (language == "" or indented):
            block.append(line.strip() if indented else line)
        elif block:
            yield block
            block = []
        before = line


def mentioned(text: str) -> list[str]:
    """Return the commands that prose mentions, with names as placeholders."""
    return [
        " ".join(one.split())
        for one in re.findall(r"`(sampler-parity [a-z][^`]*)`", _CODE.sub("", text))
    ]
