"""A process of a pool: its inheritance, its own backends, and the ways it may end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import Pipe, get_context
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import groups
from sampler_parity.harness.processes.pool import Died, Pool, _work, start_method
from sampler_parity.harness.run.started import backend
from tests.support.alive import alive

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes start afresh")


def started() -> tuple[int, str]:
    """The id of a backend that this process starts, and its scratch file."""
    process = backend("null", 60.0)
    process.hello()
    return process.pid, str(process.scratch.path)


def printed(code: str) -> list[str]:
    """Return the words that Python prints in a process without threads (xdist has one)."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


# Starts a daemon: of another session, of a parent that ends, without the mark in its environment.
# It prints its id once the mark is gone. The program waits for the end of its stdin.
DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sh", ["sh", "-c", "echo $$; exec sleep 600 <&- >&- 2>&-"], {})
    os._exit(0)
os.wait()
sys.stdin.read()
"""


def daemons(number: int) -> tuple[list[int], list[int], list[int]]:
    """Start programs that leave a daemon, and end them one after the other. Return the daemons,
    those alive before the last end, and those after it."""
    several = [
        groups.start(
            [sys.executable, "-I", "-S", "-c", DAEMON],
            dict(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(number)
    ]
    left = []
    for group in several:
        assert group.process.stdout is not None
        left.append(int(group.process.stdout.readline()))
    for group in several[1:]:
        group.end()
    before = alive(*left)
    own = subprocess.Popen(["/bin/sleep", "600"])  # of our session: no orphan
    several[0].end()
    after = alive(*left)
    assert alive(own.pid)
    own.kill()
    own.wait()
    return left, before, after


@pytest.mark.slow
@FORKS
def test_a_daemon_of_a_backend_ends_with_the_last_backend() -> None:
    with Pool(1, 1) as pool:
        left, before, after = pool.call(daemons, 2)
        assert len(left) == 2
        assert before == left  # it may be the other backend's
        assert after == []


@pytest.mark.slow
@FORKS
def test_a_daemon_outlives_a_pool_that_adopts_no_orphans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the test above sees the daemon."""
    monkeypatch.setattr(groups, "adopt_orphans", lambda: None)
    with Pool(1, 1) as pool:
        left, _, after = pool.call(daemons, 1)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert after == (left if start_method() == "fork" else [])


@FORKS
def test_process_of_a_pool_imports_nothing_again() -> None:
    code = (
        "import wave; from sampler_parity.harness.processes.pool import Pool\n"
        "with Pool(1, 1) as pool:\n"
        "    print(pool.call(eval, \"'wave' in __import__('sys').modules\"))"
    )
    assert printed(code) == ["True"]


@pytest.fixture
def beside_a_thread() -> Iterator[None]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


@FORKS
@pytest.mark.usefixtures("beside_a_thread")
def test_process_with_threads_is_not_copied() -> None:
    assert start_method() == "forkserver"


@pytest.mark.slow
@pytest.mark.usefixtures("beside_a_thread")
def test_process_that_is_no_copy_has_the_environment_of_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for word in ("before", "now"):
        monkeypatch.setenv("OF_A_TEST", word)
        with Pool(1, 1) as pool:
            assert pool.call(os.getenv, "OF_A_TEST") == word


def test_pool_has_no_more_processes_than_tasks() -> None:
    with Pool(8, 2) as pool:
        assert pool.size == 2


@FORKS
@pytest.mark.slow
def test_process_of_a_pool_starts_its_own_backend_and_ends_it() -> None:
    code = (
        "from sampler_parity.harness.processes.pool import Pool, start_method\n"
        "from tests.processes.test_pool import started\n"
        "print(*started(), start_method())\n"
        "with Pool(1, 1) as pool:\n"
        "    print(*pool.call(started))\n"
    )
    ours, our_file, method, theirs, their_file = printed(code)
    assert method == "fork"
    assert ours != theirs
    assert not [file for file in (our_file, their_file) if Path(file).exists()]
    with pytest.raises(ProcessLookupError):
        os.kill(int(theirs), 0)


def twice(x: int) -> int:
    return 2 * x


def ends_by(signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def ends_with(status: int) -> None:
    os._exit(status)


def raises(message: str) -> None:
    raise InputError("here", message)


class UnpicklableError(Exception):
    def __init__(self) -> None:
        super().__init__("odd")
        self.lock = threading.Lock()


def raises_what_cannot_be_sent() -> None:
    raise UnpicklableError


@pytest.mark.slow
def test_each_call_of_a_pool_has_its_result() -> None:
    with Pool(2, 20) as pool:
        assert sorted(pool.each(twice, [(i,) for i in range(20)])) == [
            (i, 2 * i) for i in range(20)
        ]
        assert pool.call(twice, 4) == 8


@pytest.mark.slow
def test_process_that_dies_costs_its_own_call_and_no_other() -> None:
    calls: list[tuple[Any, ...]] = [(twice, 1), (ends_by, 9), (twice, 3), (ends_with, 7)]
    with Pool(1, 4) as pool:
        outcomes = dict(pool.each(applied, calls))
    assert [outcomes[place] for place in (0, 2)] == [2, 6]
    assert [str(outcomes[place]) for place in (1, 3)] == ["signal SIGKILL", "exit status 7"]
    assert isinstance(outcomes[1], Died)


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def test_death_in_a_single_call_is_one_line() -> None:
    with pytest.raises(InputError) as caught, Pool(1, 1) as pool:
        pool.call(ends_by, 15)
    assert str(caught.value) == "a process of the run: died: signal SIGTERM - run with --resume"


@pytest.mark.slow
def test_what_a_call_raises_is_raised_and_ends_the_pool() -> None:
    with pytest.raises(InputError, match="here: wrong"), Pool(2, 2) as pool:
        list(pool.each(applied, [(raises, "wrong"), (time.sleep, 600)]))


def test_an_exception_that_cannot_be_sent_is_reported_in_words() -> None:
    with pytest.raises(RuntimeError, match="UnpicklableError: odd"), Pool(1, 1) as pool:
        pool.call(raises_what_cannot_be_sent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows stops no processes")
def test_process_that_was_stopped_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sampler_parity.harness.processes.pool._LOOK_S", 0.05)
    with Pool(1, 1) as pool:
        assert pool.call(stops) == "went on"


def stops() -> str:
    os.kill(os.getpid(), signal.SIGSTOP)
    return "went on"


def test_pool_that_an_interrupt_leaves_leaves_no_process() -> None:
    pool = Pool(2, 2)
    pids = [pid for _, pid in pool.each(os.getpid, [()] * 2)]
    for worker in pool._workers:
        worker.give(time.sleep, (600,))
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
@FORKS
def test_a_process_whose_parent_is_gone_ends_without_an_error() -> None:
    ours, theirs = Pipe()
    process = get_context("fork").Process(target=_work, args=(theirs, ours, dict(os.environ)))
    process.start()
    theirs.close()
    ours.send((time.sleep, (0.3,)))
    ours.close()
    process.join(20)
    assert process.exitcode == 0
