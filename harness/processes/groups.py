"""Start programs in a process group of their own, and end them with all that they started.

Every process that starts programs has a supervisor (harness/processes/supervisor.py). It ends them
if their starter ends first, however that ended.

A program of ours may be a copy of this process, with pipes as a started program has. A new
interpreter needs 0.4 s of processor time to import numpy, pydantic and the protocol's models; a
copy has them. Linux only, and only without Python threads (`may_fork` in processes/pool.py).
"""

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from sampler_parity.harness.processes import supervisor

_POLL_S = 0.0005
_LONGEST_POLL_S = 0.05


@dataclass
class Forked:
    """A copy of this process, with the methods of `subprocess.Popen` that a group uses."""

    pid: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        end = time.monotonic() + (float("inf") if timeout is None else timeout)
        pause = _POLL_S
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a copy of this process", timeout or 0)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL_S)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def start_copy(
    main: Callable[[], None], arguments: list[str], environment: dict[str, str], errors: IO[bytes]
) -> Forked:
    """Run main in a copy of this process. arguments: its sys.argv. errors: its stderr. Raises
    OSError."""
    their_stdin, stdin = os.pipe()
    stdout, their_stdout = os.pipe()
    pid = os.fork()
    if pid == 0:
        streams = (their_stdin, their_stdout, errors.fileno())
        _become(main, arguments, environment, streams)
    os.close(their_stdin)
    os.close(their_stdout)
    return Forked(pid, os.fdopen(stdin, "wb", buffering=0), os.fdopen(stdout, "rb", buffering=0))


def _become(
    main: Callable[[], None],
    arguments: list[str],
    environment: dict[str, str],
    streams: tuple[int, int, int],
) -> NoReturn:
    """Run main in the copy and end it, without the exit handlers of its parent."""
    code = 1
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _detach_files()
        os.environ.clear()
        os.environ.update(environment)
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        sys.stdin = os.fdopen(0, encoding="utf-8")
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")
        sys.argv = arguments
        main()
        code = 0
    except SystemExit as ended:
        code = _code(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        for written in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                written.flush()
        os._exit(code)


def _code(status: str | int | None) -> int:
    """Return the exit status of `sys.exit`; a text is printed, and is 1."""
    if isinstance(status, str):
        print(status, file=sys.stderr)
        return 1
    return status or 0


def _detach_files() -> None:
    """Point the descriptors of the parent's files to /dev/null. They stay taken: the parent's
    objects would close whatever took their place."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # of the list itself, which is closed
            os.fstat(number)
            if number > 2 and number != nowhere:
                os.dup2(nowhere, number, inheritable=False)


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
    process = start_copy(main, arguments, env | _marks(mark), errors)
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
