"""Waiting for the pipes of a backend process, with a limit.

On POSIX with `select`. Windows cannot select on pipes: there reading polls, and writing waits as
long as the process takes (a backend that reads no request is found out when no reply comes, unless
the request is larger than the pipe).
"""

import os
import selectors
import sys
import time
from dataclasses import dataclass, field
from typing import IO

_POLL_S = 0.001


@dataclass(frozen=True)
class Deadline:
    """The end of the time that a request has."""

    timeout_s: float
    _begun: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds; negative once it is over."""
        return self._begun + self.timeout_s - time.monotonic()


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def prepare(pipe: IO[bytes]) -> None:
        """Nothing to do: writes block."""

    def wait_readable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Whether bytes are there, or the other side has closed it, within this time."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                if _winapi.PeekNamedPipe(msvcrt.get_osfhandle(pipe.fileno()), 0)[0]:
                    return True
            except OSError:  # closed
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)

    def wait_writable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Always: not to be known in advance."""
        return True

    def unread(pipe: IO[bytes]) -> int:
        """Bytes that were written and not read by the other side; 0: not known."""
        return 0

else:
    import array
    import contextlib
    import fcntl
    import termios

    def prepare(pipe: IO[bytes]) -> None:
        """Reads and writes take what there is and do not wait."""
        os.set_blocking(pipe.fileno(), False)

    def wait_readable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Whether bytes are there, or the other side has closed it, within this time."""
        return _select(pipe, selectors.EVENT_READ, timeout_s)

    def wait_writable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Whether the pipe takes bytes within this time."""
        return _select(pipe, selectors.EVENT_WRITE, timeout_s)

    def unread(pipe: IO[bytes]) -> int:
        """Bytes that were written and not read by the other side; 0 where it is not known."""
        count = array.array("i", [0])
        with contextlib.suppress(OSError):
            fcntl.ioctl(pipe.fileno(), termios.FIONREAD, count)
        return count[0]

    def _select(pipe: IO[bytes], event: int, timeout_s: float) -> bool:
        with selectors.PollSelector() as selector:  # epoll would need three more system calls
            selector.register(pipe, event)
            return bool(selector.select(max(0, timeout_s)))
