"""Start programs in a process group of their own, and end them with all that they started.

Every process that starts programs has a supervisor (harness/processes/supervisor.py). It ends them
if their starter ends first, however that ended.
"""

import contextlib
import ctypes
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sampler_parity.harness.processes import forked, supervisor
from sampler_parity.harness.processes.forked import Forked

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
MEMORY = Path("/dev/shm")
if sys.platform == "win32":
    _NEW_GROUP: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _NEW_GROUP: dict[str, Any] = {"start_new_session": True}


@dataclass
class _Supervisor:
    """The supervisor of the process with the id `owner`, and the pipe to it."""

    owner: int
    mark: str
    process: subprocess.Popen[bytes]
    started: int = 0

    def send(self, line: str) -> None:
        """Send a line. Raises OSError if the supervisor was killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())


@dataclass
class ProcessGroup:
    """A program and all that it starts. mark: stands in the environment of each of them."""

    process: subprocess.Popen[bytes] | Forked
    mark: str
    ended: bool = field(default=False)

    def end(self) -> None:
        """Kill them all. A program that ended by itself may have left others behind."""
        if self.ended:
            return
        self.ended = True
        _live.discard(self.process.pid)
        supervisor.kill(self.process.pid, "group")
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        supervisor.end_marked(self.mark)
        if _adopter == os.getpid() and not _live:
            supervisor.end_orphans({_mine().process.pid})
        notify(f"gone {self.process.pid}")


_supervisor: _Supervisor | None = None
_live: set[int] = set()  # the groups that have not ended
_adopter = 0  # the process that adopts orphans


def adopt_orphans() -> None:
    """Make this process the parent of each descendant whose own parent ends, on Linux. The end of
    the last group kills them, also without a mark in their environment. Call it in a process that
    starts programs only by this module."""
    global _adopter
    if sys.platform == "linux":
        _live.clear()  # of the process that this one is a copy of
        if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            _adopter = os.getpid()


def start(command: list[str], env: dict[str, str], **options: Any) -> ProcessGroup:
    """Start a program in a group that a terminal's signals do not reach. Raises OSError."""
    mark = _new_mark()
    process = subprocess.Popen(command, env=env | _marks(mark), **_NEW_GROUP, **options)
    _live.add(process.pid)
    notify(f"group {process.pid}")
    return ProcessGroup(process, mark)


def fork(
    main: Callable[[], None], arguments: list[str], env: dict[str, str], errors: Any
) -> ProcessGroup:
    """Run main in a copy of this process, in a group of its own. Raises OSError."""
    mark = _new_mark()
    process = forked.fork(main, arguments, env | _marks(mark), errors)
    _live.add(process.pid)
    notify(f"group {process.pid}")
    return ProcessGroup(process, mark)


def _new_mark() -> str:
    mine = _mine()
    mine.started += 1
    return f"{mine.mark}.{mine.started}."


def _marks(mark: str) -> dict[str, str]:
    return {supervisor.MARKS: f"{os.environ[supervisor.MARKS]} {mark}"}


def supervise() -> None:
    """Start the supervisor of this process, if it has none."""
    _mine()


def notify(line: str) -> None:
    """Send a line to the supervisor of this process; start a new one if it was killed."""
    try:
        _mine().send(line)
    except OSError:
        release()
        _mine().send(line)


def release() -> None:
    """Close the pipe to the supervisor, which then ends what it supervises. A fork closes that of
    its parent."""
    global _supervisor
    if _supervisor is not None and _supervisor.process.stdin is not None:
        with contextlib.suppress(OSError):
            _supervisor.process.stdin.close()
    _supervisor = None


def _mine() -> _Supervisor:
    global _supervisor
    if _supervisor is not None and _supervisor.owner != os.getpid():
        release()
    if _supervisor is None:
        mark = f"{os.getpid()}-{secrets.token_hex(8)}"
        folders = dict.fromkeys([str(MEMORY), tempfile.gettempdir()])
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, mark, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={key: value for key, value in os.environ.items() if key != supervisor.MARKS},
            bufsize=0,
            **_NEW_GROUP,
        )
        process.returncode = 0  # no one waits for it: it outlives us
        _supervisor = _Supervisor(os.getpid(), mark, process)
        os.environ[supervisor.MARKS] = f"{os.environ.get(supervisor.MARKS, '')} {mark}"
    return _supervisor
