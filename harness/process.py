"""A backend process: start it, ask it, and turn everything that can go wrong into a verdict.

Life of a connection, and which failure belongs to which step:
  start    the command is missing or ends at once               -> crashed
  hello    no reply in time, no JSON, another protocol version  -> timeout, crashed
  request  the process dies, prints what is no reply, stays silent -> crashed, timeout
           it answers {"ok": false}                             -> unsupported, rejected
After crashed and timeout the process is killed and the next request starts a new one.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from harness import protocol as p
from harness.scratch import Scratch

START_TIMEOUT_S = 60.0
_MAX_LINE = 1 << 26

R = TypeVar("R", bound=BaseModel)


class BackendFailure(Exception):  # noqa: N818 - a verdict
    """This request has no result. verdict: unsupported, rejected, crashed or timeout."""

    def __init__(
        self, verdict: Literal["unsupported", "rejected", "crashed", "timeout"], message: str
    ) -> None:
        super().__init__(message)
        self.verdict = verdict


@dataclass
class BackendProcess:
    """A backend by the command that runs it. Starts on the first request."""

    name: str
    command: list[str]
    timeout_s: float = 60.0
    scratch: Scratch = field(default_factory=Scratch)
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _errors: Any = None
    _buffer: bytes = b""
    _hello: p.HelloReply | None = None

    def hello(self) -> p.HelloReply:
        """What the backend says of itself; starts it if need be. Raises BackendFailure."""
        if self._process is None or self._hello is None:
            self._start()
        assert self._hello is not None
        return self._hello

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        """Send a request and wait for its reply. Raises BackendFailure."""
        self.hello()
        return self._exchange(request, reply, timeout_s or self.timeout_s)

    def close(self) -> None:
        """Say bye, end the process, delete the scratch file."""
        if self._process is not None and self._process.poll() is None:
            try:
                self._send(p.ByeRequest())
                self._process.wait(1)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._kill()
        self.scratch.remove()

    def _start(self) -> None:
        self._kill()
        self.starts += 1
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            raise BackendFailure("crashed", f"cannot start {self.command[0]}: {error}") from None
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._buffer = b""
        hello = p.HelloRequest(scratch=str(self.scratch.path))
        self._hello = self._exchange(hello, p.HelloReply, START_TIMEOUT_S)

    def _exchange(self, request: BaseModel, reply: type[R], timeout_s: float) -> R:
        try:
            self._send(request)
        except OSError:
            raise self._died() from None
        line = self._read_line(timeout_s)
        try:
            answer = json.loads(line)
            if isinstance(answer, dict) and answer.get("ok") is False:
                refusal = p.ErrorReply.model_validate(answer)
                raise BackendFailure(refusal.kind, refusal.message)
            return reply.model_validate(answer)
        except (ValueError, ValidationError) as error:
            self._kill()
            shown = line[:200].decode(errors="replace")
            reason = str(error).splitlines()[0]
            raise BackendFailure("crashed", f"not a reply: {shown!r} ({reason})") from None

    def _send(self, request: BaseModel) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(p.to_line(request).encode() + b"\n")
        self._process.stdin.flush()

    def _read_line(self, timeout_s: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self._kill()
                    raise BackendFailure("timeout", f"no reply within {timeout_s:g} s")
                chunk = os.read(self._process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise self._died()
                self._buffer += chunk
                if len(self._buffer) > _MAX_LINE:
                    self._kill()
                    raise BackendFailure("crashed", "a reply of over 64 MiB without a line end")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _died(self) -> BackendFailure:
        assert self._process is not None
        code = self._process.wait()
        how = f"exit status {code}"
        if code < 0:
            how = f"signal {signal.Signals(-code).name}"
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        self._kill()
        last = next((line for line in reversed(said) if "ASSERT" in line), said[-1] if said else "")
        return BackendFailure("crashed", f"{how}: {last}" if last else how)

    def _kill(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process = self._hello = None
