"""A backend process: start it, ask it, and turn everything that can go wrong into a verdict.

Life of a connection, and which failure belongs to which step:
  start    the command is missing or ends at once               -> crashed
  hello    no reply in time, no JSON, another protocol version  -> timeout, crashed
  request  the process dies, prints what is no reply, stays silent -> crashed, timeout
           it answers {"ok": false}                             -> unsupported, rejected
           its reply does not fit the request, or more follows  -> crashed
After crashed and timeout the process is killed and the next request starts a new one, as it does
where a process died or printed something between two requests: the next case must not pay for it.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from sampler_parity.harness.processes import groups
from sampler_parity.harness.processes.groups import Group
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol import pipes
from sampler_parity.harness.protocol.environment import small
from sampler_parity.harness.protocol.interface import BackendFailure, R
from sampler_parity.harness.protocol.limits import reply_bytes
from sampler_parity.harness.protocol.scratch import Scratch

START_TIMEOUT_S = 60.0
_LAST_WORDS = 2000  # bytes of stderr that are looked at
_DIGITS = 18  # of a whole number: no count, place or time needs more, and any reader holds it


@dataclass
class BackendProcess:
    """A backend by the command that runs it. Starts on the first request."""

    name: str
    command: list[str]
    timeout_s: float = 60.0
    start_timeout_s: float = START_TIMEOUT_S
    scratch: Scratch = field(default_factory=Scratch)
    starts: int = 0
    _group: Group | None = None
    _errors: Any = None
    _buffer: bytearray = field(default_factory=bytearray)
    _hello: p.HelloReply | None = None

    def hello(self) -> p.HelloReply:
        """What the backend says of itself; starts it if need be. Raises BackendFailure."""
        if self._process is None or self._hello is None or self._readable(0):
            self._start()
        assert self._hello is not None
        return self._hello

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        """Send a request and wait for its reply. Raises BackendFailure."""
        self.hello()
        return self._exchange(request, reply, timeout_s or self.timeout_s)

    def violation(self, message: str) -> BackendFailure:
        """The failure to raise for a reply that breaks the protocol; ends the process."""
        self._kill()
        return BackendFailure("crashed", message)

    @property
    def pid(self) -> int:
        """Of the running process. Raises BackendFailure where none runs."""
        if self._process is None:
            raise BackendFailure("crashed", "it is not running")
        return self._process.pid

    @property
    def _process(self) -> subprocess.Popen[bytes] | None:
        return self._group.process if self._group else None

    def close(self) -> None:
        """Say bye, end the process, delete the scratch file."""
        if self._process is not None and self._process.poll() is None:
            try:
                self._send(p.ByeRequest(), _Deadline(1))
                self._process.wait(1)
            except (OSError, subprocess.TimeoutExpired, BackendFailure):
                pass
        self._kill()
        self.scratch.remove()

    def _start(self) -> None:
        self._kill()
        if self.scratch.harm():
            self.scratch.remove()
            self.scratch = Scratch()
        self.starts += 1
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._group = groups.start(
                self.command,
                small(os.environ) | {"GGML_NO_BACKTRACE": "1"},  # else it starts gdb when it aborts
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            self._errors.close()
            raise BackendFailure("crashed", f"cannot start {self.command[0]}: {error}") from None
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        pipes.prepare(self._process.stdin)
        pipes.prepare(self._process.stdout)
        self._buffer.clear()
        hello = p.HelloRequest(scratch=str(self.scratch.path))
        self._hello = self._exchange(hello, p.HelloReply, self.start_timeout_s)

    def _exchange(self, request: BaseModel, reply: type[R], timeout_s: float) -> R:
        """The time holds for all: writing the request, waiting, reading and checking the reply."""
        deadline = _Deadline(timeout_s)
        try:
            self._send(request, deadline)
        except OSError:
            raise self._died() from None
        line = self._read_line(deadline, reply_bytes(request))
        if self._buffer:
            shown = self._buffer[:200].decode(errors="replace")
            raise self.violation(f"more than one line for one request: {shown!r}")
        try:
            answer = _parsed(line)
            if isinstance(answer, dict) and answer.get("ok") is False:
                refusal = p.ErrorReply.model_validate(answer)
                raise BackendFailure(refusal.kind, refusal.message)
            if reply is p.HelloReply:
                self._check_version(answer)
            checked = reply.model_validate(answer)
        except (ValueError, ValidationError, RecursionError) as error:
            shown = line[:200].decode(errors="replace")
            reason = str(error).splitlines()[0]
            raise self.violation(f"not a reply: {shown!r} ({reason})") from None
        if deadline.left() < 0:
            raise self._timed_out(deadline)
        if harm := self.scratch.harm():
            raise self.violation(harm)
        return checked

    def _check_version(self, greeting: Any) -> None:
        """Before the rest is read, which another version may word in another way."""
        version = greeting.get("protocol", 1) if isinstance(greeting, dict) else 1
        if version != p.PROTOCOL_VERSION:
            spoken = p.PROTOCOL_VERSION
            raise self.violation(f"it speaks protocol {version!r}, the harness protocol {spoken}")

    def _send(self, request: BaseModel, deadline: "_Deadline") -> None:
        """Write a request. A process that does not read it in time has timed out, too."""
        assert self._process is not None
        assert self._process.stdin is not None
        pipe = self._process.stdin
        data = memoryview(p.to_line(request).encode() + b"\n")
        while data:
            if not pipes.wait_writable(pipe, deadline.left()):
                raise self._timed_out(deadline)
            data = data[os.write(pipe.fileno(), data) :]

    def _read_line(self, deadline: "_Deadline", limit: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        end = -1
        while end < 0:
            if not self._readable(deadline.left()):
                raise self._timed_out(deadline)
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise self._died()
            end = chunk.find(b"\n")
            end += len(self._buffer) if end >= 0 else 0
            self._buffer += chunk
            if max(end, len(self._buffer) if end < 0 else 0) > limit:
                raise self.violation(f"a reply of over {limit:,} bytes, more than any should have")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _readable(self, timeout_s: float) -> bool:
        """Whether the process has printed something, or closed its stdout, within this time."""
        assert self._process is not None
        assert self._process.stdout is not None
        return timeout_s >= 0 and pipes.wait_readable(self._process.stdout, timeout_s)

    def _timed_out(self, deadline: "_Deadline") -> BackendFailure:
        self._kill()
        return BackendFailure("timeout", f"no reply within {deadline.timeout_s:g} s")

    def _died(self) -> BackendFailure:
        assert self._process is not None
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return self.violation("closed its stdout")
        names = {s.value: s.name for s in signal.Signals}
        how = f"exit status {code}" if code >= 0 else f"signal {names.get(-code, -code)}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
        said = self._errors.read(_LAST_WORDS).decode(errors="replace").strip().splitlines()
        self._kill()
        last = next((line for line in reversed(said) if "ASSERT" in line), said[-1] if said else "")
        return BackendFailure("crashed", f"{how}: {last}" if last else how)

    def _kill(self) -> None:
        """End the process and all that it started, however it ended itself."""
        if self._group is None:
            return
        self._group.end()
        for stream in (self._group.process.stdin, self._group.process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._group = self._hello = None


@dataclass(frozen=True)
class _Deadline:
    """The end of the time that a request has."""

    timeout_s: float
    _begun: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds; negative once it is over."""
        return self._begun + self.timeout_s - time.monotonic()


def _parsed(line: bytes) -> Any:
    """The JSON of a reply. ValueError for what only some readers of JSON take."""
    answer = json.loads(line.decode(), parse_int=_whole, parse_constant=_no_json)
    if b"\\u" in line:
        json.dumps(answer, ensure_ascii=False).encode()  # half a surrogate pair has no bytes
    return answer


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > _DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
