"""The place where each command of the docs runs: tests/project/commands_of_docs.toml."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from sampler_parity.harness.backends.engines import ENGINES
from scripts.engines_index import engines_of_others
from tests.support.doc_commands import Command

TABLE = Path(__file__).resolve().parent.parent / "project" / "commands_of_docs.toml"
OWN_TESTS = ("pytest tests/", "pytest engines/")
HOMES = ("night", "elsewhere", "nowhere")
BESIDE = ("fails", "shorter", "needs")


@cache
def table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@cache
def engines() -> str:
    """Return a pattern that matches a backend of a third-party engine, or one in its
    environment."""
    names = {row.name for row in engines_of_others()}
    names |= {row.name for row in ENGINES.values() if row.environment}
    return f"(?:{'|'.join(map(re.escape, sorted(names)))})"


def fits(pattern: str, text: str) -> bool:
    """Return whether a pattern fits: * is anything, {engine} a backend of a third-party engine.

    No other character is special, as all of them occur in commands.
    """
    return _expression(pattern).fullmatch(text) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*|\{engine\})", pattern)
    special = {"*": ".*", "{engine}": engines()}
    return re.compile("".join(special.get(part, re.escape(part)) for part in parts))


def entry(lines: Mapping[str, Any], text: str) -> str | None:
    """Return the pattern that counts for a command: the longest that fits."""
    return max((p for p in lines if fits(p, text)), key=len, default=None)


@dataclass(frozen=True)
class Home:
    """kind: commit, tests or one of HOMES. run: the command, which ends with status.

    needs: a module, a program or a file that it cannot run without.
    """

    kind: str
    run: str
    status: int = 0
    needs: str | None = None


def home_of(command: Command, lists: Mapping[str, Mapping[str, Any]] | None = None) -> Home:
    lists = lists or table()
    text = command.text
    named = {p: kind for kind in HOMES for p in lists[kind]}
    pattern = entry(named, text)
    kind = named[pattern] if pattern else "tests" if text.startswith(OWN_TESTS) else "commit"
    less, module = (entry(lists[key], text) for key in ("shorter", "needs"))
    return Home(
        kind,
        run=lists["shorter"][less] if less else text,
        status=int(entry(lists["fails"], text) is not None),
        needs=lists["needs"][module] if module else None,
    )


def is_here(needed: str) -> bool:
    module = find_spec(needed) if needed.isidentifier() else None
    return bool(module or which(needed)) or Path(needed).is_file()


def stale(commands: Iterable[Command], lists: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the lines of the table that count for no command."""
    texts = {command.text for command in commands}
    homes = {p: None for kind in HOMES for p in lists[kind]}
    counting = {entry(homes, text) for text in texts}
    counting |= {entry(lists[kind], text) for kind in BESIDE for text in texts}
    return [p for lines in lists.values() for p in lines if p not in counting]
