"""Commands of the docs: run in this process with every commit, and at night as they are pasted."""

import glob
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.support.command_line import cli
from tests.support.doc_commands import ROOT
from tests.support.doc_folder import CACHE
from tests.support.doc_homes import Home


def merged(homes: Iterable[Home]) -> Iterator[Home]:
    """Yield each command once.

    Commands that differ only in --case are one run with all of the cases.

    The run refuses a case that does not exist, and its status is 0 only if each alone would have
    it.
    """
    once = {home.run: home for home in homes}
    cases: dict[str, list[str]] = {}
    for run in once:
        cases.setdefault(_without_case(run), []).extend(_CASE.findall(run))
    done = set()
    for run, home in once.items():
        rest = _without_case(run)
        if rest == run:
            yield home
        elif rest not in done:
            done.add(rest)
            yield replace(home, run=rest + "".join(cases[rest]))


_CASE = re.compile(r" --case \S+")


def _without_case(run: str) -> str:
    return run if " -o " in run else _CASE.sub("", run)


def run_inside(run: str, folder: Path) -> tuple[int, str]:
    """Run `sampler-parity` commands in this process; return the last status and all output."""
    status, output = 0, ""
    for part in run.split("; "):
        program, *words = shlex.split(part)
        assert program == "sampler-parity", f"needs a shell, let it run at night: {part}"
        jobs = ["-j", "1"] if words[0] == "run" else []  # a pool costs more than such runs
        done = cli(*_expanded(words, folder), *jobs, folder=folder)
        status, output = done.returncode, output + done.stdout + done.stderr
    return status, output


def _expanded(words: list[str], folder: Path) -> list[str]:
    """Return the names with * expanded as by a shell; a pattern that fits nothing stays."""
    names = {word: sorted(glob.glob(word, root_dir=folder)) for word in words if "*" in word}
    return [name for word in words for name in names.get(word) or [word]]


def run_pasted(run: str, folder: Path) -> tuple[int, str]:
    """Run in a shell, with the programs of this environment first, and without pytest's variables.

    With them, a command would act as if tests ran at the same time.
    """
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        ["bash", "-c", run],
        cwd=folder,
        env=around | {"PATH": own_path(), "XDG_CACHE_HOME": str(folder / CACHE)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def own_path() -> str:
    """Return PATH with the programs of this environment first: a reader has activated it."""
    return f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"


def selected(run: str) -> list[str]:
    """Return the tests that a `pytest tests/... -k ...` selects, by their names in the files."""
    _, *words = shlex.split(run)
    wanted = words[words.index("-k") + 1] if "-k" in words else ""
    files = [path for word in words if word.endswith(".py") for path in sorted(ROOT.glob(word))]
    names = [
        f"{path.name}::{name}"
        for path in files
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    return [name for name in names if any(word in name for word in wanted.split(" or "))]
