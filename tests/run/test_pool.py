"""harness/pool.py: a process of a pool has what its parent imported, and backends of its own."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sampler_parity.harness.pool import pool, start_method
from sampler_parity.harness.run.cases import backend

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes start afresh")


def started() -> tuple[int, str]:
    """The id of a backend that this process starts, and its scratch file."""
    process = backend("null", 60.0)
    process.hello()
    return process.pid, str(process.scratch.path)


def printed(code: str) -> list[str]:
    """What Python prints in a process that has no threads: those of xdist have one."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@FORKS
def test_process_of_a_pool_imports_nothing_again() -> None:
    code = (
        "import wave; from sampler_parity.harness.pool import pool\n"
        "with pool(1, 1) as executor:\n"
        "    print(executor.submit(eval, \"'wave' in __import__('sys').modules\").result())"
    )
    assert printed(code) == ["True"]


def test_process_with_threads_is_not_copied() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert start_method() == "spawn"
    finally:
        end.set()
        thread.join()


def test_pool_has_no_more_processes_than_tasks() -> None:
    with pool(8, 2) as executor:
        assert executor._max_workers == 2  # type: ignore[attr-defined]


@FORKS
@pytest.mark.slow
def test_process_of_a_pool_starts_its_own_backend_and_ends_it() -> None:
    code = (
        "from sampler_parity.harness.pool import pool, start_method\n"
        "from tests.run.test_pool import started\n"
        "print(*started(), start_method())\n"
        "with pool(1, 1) as executor:\n"
        "    print(*executor.submit(started).result())\n"
    )
    ours, our_file, method, theirs, their_file = printed(code)
    assert method == "fork"
    assert ours != theirs
    assert not [file for file in (our_file, their_file) if Path(file).exists()]
    with pytest.raises(ProcessLookupError):
        os.kill(int(theirs), 0)
