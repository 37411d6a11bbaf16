"""Every command of the README and of docs/ can be pasted: it parses, and its suites exist."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line import check_command

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# A line of a block of code; what has dots, brackets or SEED in it is no command, but tells of one.
LINE = re.compile(r"^(?:    )(?:\$ )?sampler-parity (?P<words>[^\n]*)$", re.MULTILINE)
FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
TELLS = re.compile(r"\.\.\.|\[-|\|\s*$| SEED\b")


def commands(text: str) -> list[str]:
    """Those of a page, joined where they go on in the next line."""
    indented = FENCED.sub(lambda block: re.sub("^", "    ", block[1], flags=re.MULTILINE), text)
    joined = re.sub(r"\\\n\s*", " ", indented)
    lines = [match["words"] for match in LINE.finditer(joined)]
    return [line for line in lines if not TELLS.search(line)]


ALL = [(path.name, line) for path in PAGES for line in commands(path.read_text(encoding="utf-8"))]


def test_pages_have_commands() -> None:
    assert {"README.md", "running.md", "drift.md"} <= {name for name, _ in ALL}
    assert len(ALL) > 50


@pytest.mark.parametrize(("page", "line"), ALL)
def test_every_command_of_the_docs_is_one(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    check_command([word for word in words if not word.endswith("findings.toml")])  # not yet there


def test_a_command_that_there_is_not_is_noticed() -> None:
    (line,) = commands("    sampler-parity run parity/nothing -b mine  # a comment\n")
    with pytest.raises(Exception, match="no such suite"):
        check_command(shlex.split(line, comments=True))
