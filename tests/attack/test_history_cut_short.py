"""`history add` killed at each of its statements, and with its disk full at each file size.

Afterwards the file is as before that command, and the next command adds its bundle.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.parametrize(("recorded", "sizes"), [(False, 3), (True, 10)])
def test_a_full_disk_loses_nothing_that_was_recorded(
    tmp_path: Path, bundle: Path, recorded: bool, sizes: int
) -> None:
    """The database is full when it has so many pages. A page more each time, until it fits."""
    before, file = tmp_path / "before.sqlite", tmp_path / "h.sqlite"
    many = [case(f"{n:03d}", {"a": got()}, samplers=[f"{n:0400d}"]) for n in range(40 * recorded)]
    added = write_bundle(tmp_path / "big", run_info("a", seed=1), many) if recorded else bundle
    if recorded:
        history.add(before, [bundle])
    connect = sqlite3.connect
    for pages in range(1, 50):
        file.unlink(missing_ok=True)
        if recorded:
            shutil.copy(before, file)

        def small(*arguments: Any, pages: int = pages, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **options)
            connection.execute(f"PRAGMA max_page_count = {pages}")
            return connection

        with mock.patch("sqlite3.connect", small):
            done = cli("history", "add", added, "-d", file)
        if done.returncode == 0:
            break
        assert "cannot be used as a history: database or disk is full" in refused(done)
        assert names(file) == (names(before) if recorded else [])
    assert pages > sizes
    assert names(file) == (["b", "big"] if recorded else ["b"])
