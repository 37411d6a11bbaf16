"""Fork this process to run one of our programs, with pipes as a started program has.

A new interpreter needs 0.4 s of processor time to import numpy, pydantic and the protocol's models;
a copy has them. Linux only, and only without Python threads (`may_fork` in processes/pool.py).
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, NoReturn

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


def fork(
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
