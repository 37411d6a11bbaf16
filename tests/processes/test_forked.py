"""harness/processes/groups.py: a copy of a process that continues as another program of ours.

The tests run in a process of a pool, because a copy is made only where no thread runs.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.processes import groups
from sampler_parity.harness.processes.groups import Forked
from sampler_parity.harness.processes.pool import Pool, may_fork
from sampler_parity.harness.run.started import backend

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is copied")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1, 1) as processes:
        yield processes


def report() -> None:
    """Print the facts of a copy, after a line from stdin."""
    asked = sys.stdin.readline()
    facts = {"asked": asked, "arguments": sys.argv, "environment": dict(os.environ)}
    facts["files"] = sorted({os.readlink(f"/proc/self/fd/{n}") for n in range(3, 12) if known(n)})
    facts["interrupts"] = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    print(json.dumps(facts), flush=True)
    sys.stderr.write("to stderr")


def known(number: int) -> bool:
    return os.path.lexists(f"/proc/self/fd/{number}")


def raises() -> None:
    raise ValueError("what was wrong")


def says_why() -> None:
    sys.exit("what was wrong")


def exits() -> None:
    sys.exit(3)


def aborts() -> None:
    os.abort()


def sleeps() -> None:
    time.sleep(60)


def end(group: groups.ProcessGroup) -> None:
    group.end()
    for stream in (group.process.stdin, group.process.stdout):
        assert stream is not None
        stream.close()


def asked_of(main: Callable[[], None]) -> tuple[dict[str, Any], int, str]:
    """Return the answer of a copy, its exit status and its stderr; for a process of a pool."""
    with tempfile.TemporaryFile() as errors:
        group = groups.fork(main, ["program", "argument"], {"A": "b"}, errors)
        process = group.process
        assert isinstance(process, Forked)
        with suppress(BrokenPipeError):  # one that fails may be gone by now
            process.stdin.write(b"hello\n")
        line = process.stdout.readline()
        code = process.wait(20)
        end(group)
        errors.seek(0)
        return json.loads(line or "{}"), code, errors.read().decode()


def test_copy_has_its_own_arguments_environment_streams_and_files(pool: Pool) -> None:
    facts, code, errors = pool.call(asked_of, report)
    assert (facts["asked"], facts["arguments"]) == ("hello\n", ["program", "argument"])
    assert set(facts["environment"]) == {"A", "SAMPLER_PARITY_KEPT"}
    assert facts["interrupts"]
    assert (code, errors) == (0, "to stderr")
    assert facts["files"] == [os.devnull]  # none of its parent


@pytest.mark.parametrize(
    ("main", "code", "words"),
    [
        (raises, 1, "ValueError: what was wrong"),
        (exits, 3, ""),
        (says_why, 1, "what was wrong\n"),
        (aborts, -signal.SIGABRT, ""),
    ],
)
def test_end_of_a_copy_is_that_of_a_program(
    pool: Pool, main: Callable[[], None], code: int, words: str
) -> None:
    _, status, errors = pool.call(asked_of, main)
    assert status == code
    assert words in errors


def waited_for() -> tuple[bool, int | None]:
    """Return whether a wait for a copy ends in time, and the status if its group ends it."""
    with tempfile.TemporaryFile() as errors:
        group = groups.fork(sleeps, ["program"], {}, errors)
        try:
            group.process.wait(0.05)
        except subprocess.TimeoutExpired:
            end(group)
            return True, group.process.returncode
    return False, None


def test_waiting_for_a_copy_has_a_limit_and_its_group_ends_it(pool: Pool) -> None:
    assert pool.call(waited_for) == (True, -signal.SIGKILL)


def of_a_run(name: str) -> tuple[bool, bool, bool]:
    """Return whether a backend of a run may be a copy, is one, and answers."""
    process = backend(name, 60.0)
    hello = process.hello()
    assert process._group is not None
    return may_fork(), isinstance(process._group.process, Forked), "run" in hello.capabilities


@pytest.mark.slow
@pytest.mark.parametrize(("name", "copied"), [("llama.cpp", True), ("null", False)])
def test_llama_cpp_is_a_copy_and_our_own_python_is_not(pool: Pool, name: str, copied: bool) -> None:
    assert pool.call(of_a_run, name) == (True, copied, True)


def test_what_is_timed_is_a_new_interpreter() -> None:
    process = registry.start("llama.cpp")
    process.close()
    assert process.main is None
