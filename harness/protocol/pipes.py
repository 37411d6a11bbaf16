"""Wait for the pipes of a backend process, with a time limit, and keep the end of its stderr.

POSIX has `select`. Windows cannot select on pipes: reading polls, and writing waits without a
limit. There a backend that reads no request times out on its reply, if the request fits the pipe.
"""

import math
import os
import select
import sys
import time
from dataclasses import dataclass, field
from typing import IO

_POLL_S = 0.001
_CHUNK = 1 << 16  # bytes read at once: a full pipe


@dataclass(frozen=True)
class Deadline:
    """The end of the time that a request has."""

    timeout_s: float
    _begun: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Return the seconds left; negative after the deadline."""
        return self._begun + self.timeout_s - time.monotonic()


@dataclass
class ErrorOutput:
    """A pipe for the stderr of a process, and the last bytes that came through it.

    Nothing else is kept, in memory or on a disk. It is read while the harness waits for the process
    (`wait_readable`, `wait_writable`): at other times a process that prints more than a pipe holds
    waits.
    """

    limit: int
    tail: bytes = b""
    ended: bool = False

    def __post_init__(self) -> None:
        reads, writes = os.pipe()
        self.pipe = os.fdopen(reads, "rb", buffering=0)
        self.writer = os.fdopen(writes, "wb", buffering=0)  # close it when the process has it

    def read(self) -> None:
        """Read once, which waits if there is nothing."""
        chunk = os.read(self.pipe.fileno(), _CHUNK)
        self.ended = not chunk
        self.tail = (self.tail + chunk)[-self.limit :]

    def drain(self, pause_s: float = 0) -> None:
        """Read until nothing comes for this time; for a second at most."""
        deadline = Deadline(1)
        while not self.ended and deadline.left() > 0 and wait_readable(self.pipe, pause_s):
            self.read()


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def prepare(pipe: IO[bytes]) -> None:
        """Do nothing: writes block."""

    def wait_readable(pipe: IO[bytes], timeout_s: float, errors: ErrorOutput | None = None) -> bool:
        """Return whether bytes arrive, or the other side closes the pipe, within this time."""
        deadline = time.monotonic() + timeout_s
        while True:
            if errors and not errors.ended and _arrived(errors.pipe):
                errors.read()
            if _arrived(pipe):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)

    def _arrived(pipe: IO[bytes]) -> bool:
        try:
            return _winapi.PeekNamedPipe(msvcrt.get_osfhandle(pipe.fileno()), 0)[0] > 0
        except OSError:  # closed
            return True

    def wait_writable(pipe: IO[bytes], timeout_s: float, errors: ErrorOutput | None = None) -> bool:
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

    def wait_readable(pipe: IO[bytes], timeout_s: float, errors: ErrorOutput | None = None) -> bool:
        """Return whether bytes arrive, or the other side closes the pipe, within this time."""
        return _poll(pipe, select.POLLIN, timeout_s, errors)

    def wait_writable(pipe: IO[bytes], timeout_s: float, errors: ErrorOutput | None = None) -> bool:
        """Return whether the pipe takes bytes within this time."""
        return _poll(pipe, select.POLLOUT, timeout_s, errors)

    def unread(pipe: IO[bytes]) -> int:
        """Return the bytes that the other side has not read yet; 0 if not known."""
        count = array.array("i", [0])
        with contextlib.suppress(OSError):
            fcntl.ioctl(pipe.fileno(), termios.FIONREAD, count)
        return count[0]

    def _poll(pipe: IO[bytes], event: int, timeout_s: float, errors: ErrorOutput | None) -> bool:
        deadline, file = Deadline(timeout_s), pipe.fileno()
        poll = select.poll()  # epoll would need three more system calls
        poll.register(file, event)
        if errors and not errors.ended:
            poll.register(errors.pipe, select.POLLIN)
        while readable := {fd for fd, _ in poll.poll(math.ceil(max(0, deadline.left()) * 1000))}:
            if errors and not errors.ended and errors.pipe.fileno() in readable:
                errors.read()
                if errors.ended:
                    poll.unregister(errors.pipe)
            if file in readable:
                return True
        return False
