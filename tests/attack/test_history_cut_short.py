"""`history add` killed at each of its statements, and with its disk full at each file size.

Afterwards the file is as before that command, and the next command adds its bundle.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sampler_parity.harness.comparison import history
from tests.support.command_line import cli, refused
from tests.support.report_bundles import case, got, run_info, write_bundle

# In a process with one thread, which may fork: each child ends at another statement.
KILLED = """
import os, sqlite3, sys
from pathlib import Path
from sampler_parity.harness.comparison import history

bundle, folder = Path(sys.argv[1]), Path(sys.argv[2])
connect = sqlite3.connect

def counting(left):
    def traced(statement):
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(9)
    def connecting(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(traced)
        return connection
    return connecting

for n in range(1, 200):
    child = os.fork()
    if not child:
        sqlite3.connect = counting(n)
        history.add(folder / f"{n}.sqlite", [bundle])
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        print(n - 1)
        break
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "b", run_info("a"), [case("x", {"a": got()})])


@pytest.fixture
def another(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "c", run_info("a", seed=1), [case("x", {"a": got()})])


def names(file: Path) -> list[str]:
    return [run.name for run in history.runs(file)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_at_each_statement_it_leaves_what_the_next_one_accepts(
    tmp_path: Path, bundle: Path
) -> None:
    (tmp_path / "h").mkdir()
    script = [sys.executable, "-c", KILLED, str(bundle), str(tmp_path / "h")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout)
    assert kills > 8  # begin, three questions, three tables, two marks, four inserts, commit
    for n in range(1, kills + 1):
        file = tmp_path / "h" / f"{n}.sqlite"
        assert history.add(file, [bundle]) == [(bundle, True)], f"killed at statement {n}"
        assert names(file) == ["b"]


class Small(sqlite3.Connection):
    """A database that is full when it has so many pages."""

    pages = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute(f"PRAGMA max_page_count = {self.pages}")


def connections(kind: type[sqlite3.Connection], **fields: int) -> Any:
    """Every connection is of a new class of this kind."""
    factory = type(kind.__name__, (kind,), fields)
    connect = sqlite3.connect
    return mock.patch("sqlite3.connect", lambda *a, **o: connect(*a, **o, factory=factory))


def full_until_it_fits(file: Path, before: Path | None, bundle: Path) -> Iterator[int]:
    """The sizes at which the file was too small, after each of which it is as before."""
    for pages in range(1, 50):
        file.unlink(missing_ok=True)
        if before:
            shutil.copy(before, file)
        with connections(Small, pages=pages):
            done = cli("history", "add", bundle, "-d", file)
        if done.returncode == 0:
            return
        assert "cannot be used as a history: database or disk is full" in refused(done)
        assert names(file) == (names(before) if before else [])
        yield pages


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_a_new_file_that_the_next_one_accepts(
    tmp_path: Path, bundle: Path
) -> None:
    file = tmp_path / "h.sqlite"
    assert len(list(full_until_it_fits(file, None, bundle))) > 3
    assert names(file) == ["b"]


@pytest.mark.slow
def test_a_disk_that_is_full_loses_nothing_that_was_recorded(tmp_path: Path, bundle: Path) -> None:
    before, file = tmp_path / "before.sqlite", tmp_path / "h.sqlite"
    many = [case(f"{n:03d}", {"a": got()}, samplers=[f"{n:0400d}"]) for n in range(40)]
    big = write_bundle(tmp_path / "big", run_info("a", seed=1), many)
    history.add(before, [bundle])
    assert len(list(full_until_it_fits(file, before, big))) > 10
    assert names(file) == ["b", "big"]


class Failing(sqlite3.Connection):
    """Fails at one of its statements with the error that SQLite raises when a disk fails."""

    left = 0

    def _count(self) -> None:
        type(self).left -= 1
        if type(self).left == 0:
            raise sqlite3.OperationalError("disk I/O error")

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return super().executemany(*arguments)


@pytest.mark.slow
def test_an_error_at_each_statement_is_one_line_and_keeps_what_was_recorded(
    tmp_path: Path, bundle: Path, another: Path
) -> None:
    before, file = tmp_path / "before.sqlite", tmp_path / "h.sqlite"
    history.add(before, [bundle])
    for n in range(1, 50):
        shutil.copy(before, file)
        with connections(Failing, left=n):
            done = cli("history", "add", another, "-d", file)
        if done.returncode == 0:
            break
        assert "cannot be used as a history: disk I/O error" in refused(done)
        assert names(file) == ["b"]
    assert n > 6
    assert names(file) == ["b", "c"]
