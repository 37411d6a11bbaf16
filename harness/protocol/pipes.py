"""Wait for the pipes of a backend process, with a time limit.

POSIX has `select`. Windows cannot select on pipes: reading polls, and writing waits without a
limit. There a backend that reads no request times out on its reply, if the request fits the pipe.
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
        """Return the seconds left; negative after the deadline."""
        return self._begun + self.timeout_s - time.monotonic()


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def prepare(pipe: IO[bytes]) -> None:
        """Do nothing: writes block."""

    def wait_readable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Return whether bytes arrive, or the other side closes the pipe, within this time."""
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
        """Return True: Windows cannot check it in advance."""
        return True

    def unread(pipe: IO[bytes]) -> int:
        """Return 0: the bytes that the other side has not read are not known."""
        return 0

else:
    import array
    import contextlib
    import fcntl
    import termios

    def prepare(pipe: IO[bytes]) -> None:
        """Make reads and writes return at once."""
        os.set_blocking(pipe.fileno(), False)

    def wait_readable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Return whether bytes arrive, or the other side closes the pipe, within this time."""
        return _select(pipe, selectors.EVENT_READ, timeout_s)

    def wait_writable(pipe: IO[bytes], timeout_s: float) -> bool:
        """Return whether the pipe takes bytes within this time."""
        return _select(pipe, selectors.EVENT_WRITE, timeout_s)

    def unread(pipe: IO[bytes]) -> int:
        """Return the bytes that the other side has not read yet; 0 if not known."""
        count = array.array("i", [0])
        with contextlib.suppress(OSError):
            fcntl.ioctl(pipe.fileno(), termios.FIONREAD, count)
        return count[0]

    def _select(pipe: IO[bytes], event: int, timeout_s: float) -> bool:
        with selectors.PollSelector() as selector:  # epoll would need three more system calls
            selector.register(pipe, event)
            return bool(selector.select(max(0, timeout_s)))
