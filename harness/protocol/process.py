"""Start a backend process, send it requests, and turn every failure into a verdict.

Life of a connection, and which failure belongs to which step:
- start: the command is missing or ends at once -> crashed
- hello: no reply in time, no JSON, another protocol version -> timeout, crashed
- hello: another version of the engine than before -> crashed
- hello: it refuses version 2 and then version 1 -> unsupported, rejected
- request: the process dies, prints no valid reply, stays silent -> crashed, timeout
- request: it answers {"ok": false} -> unsupported, rejected
- request: its reply does not fit the request, or more follows -> crashed

After crashed and timeout the process is killed and the next request starts a new one. A problem
after a good reply (another line, the end of the process, a damaged scratch file) goes into `late`
with the number of the request that had the reply: the next case is not blamed.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from pydantic import BaseModel, ValidationError

from sampler_parity.harness.processes import groups, shell
from sampler_parity.harness.processes.groups import Forked, ProcessGroup
from sampler_parity.harness.processes.pool import may_fork
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol import pipes
from sampler_parity.harness.protocol.environment import small
from sampler_parity.harness.protocol.interface import BackendFailure, NotAsked, R
from sampler_parity.harness.protocol.pipes import Deadline, ErrorOutput
from sampler_parity.harness.protocol.replies import (
    OtherVersion,
    checked,
    parsed,
    patience,
    reply_bytes,
)
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.sanitize.crash_output import BYTES, error_line, last_lines
from sampler_parity.harness.strict import first_mistake

START_TIMEOUT_S = 60.0
_SCRIPT = re.compile(r"^[^-].*\.[A-Za-z]{1,4}$")  # an argument that is the name of a file
_LOOK_S = 0.05  # how often the end of a silent process is looked for
_EXCERPT = 200  # bytes of an invalid reply
_PAUSE_S = 0.01  # between two looks at the stderr of a process that is about to end


@dataclass
class BackendProcess:
    """A backend, run by a command. Starts on the first request.

    sandbox: whether it runs in one. main: the function behind the command, if a copy of this
    process may run it. version: of the engine, which every hello must have; "" before the first.
    asked: the number of requests sent, and of the last one. late: what happened after a good reply,
    by the number of its request. check: called before each start and when it has replied. It raises
    for files that are not those of the run. asking: called before each request with the name, and
    after it with "". refused: what every request raises instead of
    being sent, or None. slow: for many cases in one request.
    """

    name: str
    command: list[str]
    timeout_s: float = 60.0
    start_timeout_s: float = START_TIMEOUT_S
    sandbox: bool = False
    main: Callable[[], None] | None = None
    version: str = ""
    scratch: Scratch = field(default_factory=Scratch)
    starts: int = 0
    asked: int = 0
    late: list[tuple[int, str]] = field(default_factory=list)
    check: Callable[[], object] = lambda: None
    asking: Callable[[str], object] = lambda name: None
    refused: BackendFailure | None = None
    slow: bool = False
    _first: int = 0
    _sent: int = 0
    _group: ProcessGroup | None = None
    _errors: ErrorOutput | None = None
    _buffer: bytearray = field(default_factory=bytearray)
    _hello: p.HelloReply | None = None

    def hello(self) -> p.HelloReply:
        """Return the backend's hello; start the backend if needed. Raises BackendFailure."""
        self.settle()
        if self._hello is None:
            if self.refused:
                raise self.refused
            self._start()
        assert self._hello is not None
        self.version = self.version or self._hello.version
        if self._hello.version != self.version:
            raise self.violation(
                f"its version changed from {self.version} to {self._hello.version}"
            )
        return self._hello

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        """Send a request and wait for its reply. Raises BackendFailure."""
        if self.refused:
            raise self.refused
        scratch = self.scratch
        self.hello()
        if self.scratch is not scratch:
            raise NotAsked("its rows were in another scratch file")
        self.asking(self.name)
        try:
            return self._exchange(request, reply, timeout_s or self.timeout_s * patience(request))
        finally:
            self.asking("")

    def settle(self, timeout_s: float = 0) -> None:
        """Record in `late` what came after the last reply, or comes within this time."""
        if self._hello is not None and (problem := self._since(timeout_s)):
            self._blame(self.asked, problem)

    def violation(self, message: str) -> BackendFailure:
        """End the process; return the failure to raise for a reply that breaks the protocol."""
        self._kill()
        return BackendFailure("crashed", message)

    @property
    def pid(self) -> int:
        """The id of the running process. Raises BackendFailure if none runs."""
        if self._process is None:
            raise BackendFailure("crashed", "it is not running")
        return self._process.pid

    @property
    def _process(self) -> subprocess.Popen[bytes] | Forked | None:
        return self._group.process if self._group else None

    def close(self) -> None:
        """Send bye, end the process, delete the scratch file."""
        if self._process is not None and self._process.poll() is None:
            try:
                self._send(p.to_line(p.ByeRequest()).encode() + b"\n", Deadline(1))
                self._process.wait(1)
            except (OSError, subprocess.TimeoutExpired, BackendFailure):
                pass
        self._kill()
        self.scratch.remove()

    def _start(self) -> None:
        self._kill()
        self.check()
        if self.scratch.harm():
            self.scratch.remove()
            self.scratch = Scratch()
        self.starts += 1
        self._errors = ErrorOutput(BYTES)
        try:
            self._group = self._started(self._errors.writer)
        except OSError as error:
            self._errors.pipe.close()
            raise BackendFailure("crashed", f"cannot start {self.command[0]}: {error}") from None
        finally:
            self._errors.writer.close()
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        pipes.prepare(self._process.stdin)
        pipes.prepare(self._process.stdout)
        self._buffer.clear()
        try:
            hello = self._greeted(p.PROTOCOL_VERSION)
        except BackendFailure as refused:
            if refused.verdict not in ("unsupported", "rejected"):
                raise
            hello = self._greeted(1)  # a backend that speaks only that refuses another
        self.check()
        self._hello = hello

    def _greeted(self, version: int) -> p.HelloReply:
        """Offer a version of the protocol; return the reply, in that version or a lower one."""
        self._first = self.asked + 2  # behind the greeting: what comes after that is the next's
        hello = p.HelloRequest(protocol=version, scratch=str(self.scratch.path))
        reply = self._exchange(hello, p.HelloReply, self.start_timeout_s)
        if reply.protocol > version:
            problem = f"it was offered protocol {version} and answers in protocol {reply.protocol}"
            raise self.violation(problem)
        if reply.protocol < 2 and "batch" in reply.capabilities:
            raise self.violation("it claims batch, which protocol 1 does not have")
        return reply

    def _started(self, errors: IO[bytes]) -> ProcessGroup:
        """Start the process. Raises OSError."""
        environment = small(os.environ) | {"GGML_NO_BACKTRACE": "1"}  # else an abort starts gdb
        if self.main is not None and may_fork():
            words = self.command[self.command.index("-m") + 1 :]
            return groups.fork(self.main, words, environment, errors)
        command, pipe = self.command, subprocess.PIPE
        if self.sandbox:
            command = shell.sandboxed(command, self.scratch.path)
        return groups.start(command, environment, stdin=pipe, stdout=pipe, stderr=errors)

    def _exchange(self, request: BaseModel, reply: type[R], timeout_s: float) -> R:
        """Send a request and read its reply. The time limit holds for all of it."""
        deadline = Deadline(timeout_s)
        self.asked += 1
        numbered = self._hello is not None and "numbers" in self._hello.capabilities
        number = self.asked if numbered else None
        data = p.to_line(request, number).encode() + b"\n"
        try:
            self._send(data, deadline)
            line = self._read_line(deadline, reply_bytes(request))
        except OSError:
            raise self._died() from None
        answer = self._reply_in(line, reply, number)
        if deadline.left() < 0:
            raise self._timed_out(deadline)
        if problem := self._more() or self.scratch.harm():
            raise self.violation(problem)
        if isinstance(answer, p.ErrorReply):
            raise BackendFailure(answer.kind, answer.message)
        return answer

    def _reply_in(self, line: bytes, reply: type[R], number: int | None) -> R | p.ErrorReply:
        """Return the reply in a line, if it has this number. Raises BackendFailure."""
        try:
            answer = parsed(line)
            if number is not None:
                self._check_number(answer, number)
            return checked(answer, reply)
        except OtherVersion as version:
            raise self.violation(str(version)) from None
        except (ValueError, ValidationError, RecursionError) as error:
            excerpt = line[:_EXCERPT].decode(errors="replace")
            reason = str(error).splitlines()[0]
            if not line.lstrip().startswith(b"{"):
                reason = "stdout is for replies: print to stderr"
            elif isinstance(error, ValidationError):
                reason = first_mistake(error)
            raise self.violation(f"not a reply ({reason}): {excerpt!r}") from None

    def _check_number(self, answer: Any, number: int) -> None:
        """Check the number of a reply; blame an earlier request for a second reply to it."""
        reply_number = answer.get("number") if isinstance(answer, dict) else None
        if type(reply_number) is int and self._first <= reply_number < number:
            self._blame(reply_number, "a second reply")
            raise NotAsked("the process replied twice to an earlier request")
        if reply_number != number:
            raise ValueError(f"its number is {reply_number!r}, expected {number}")

    def _blame(self, number: int, problem: str) -> None:
        """Blame a request that had its reply for what came after it; end the process."""
        if number >= self._first:
            self.late.append((number, problem))
        self._kill()

    def _since(self, timeout_s: float) -> str:
        """Return what went wrong since the last reply, or within this time; "" if nothing."""
        assert self._process is not None
        assert self._process.stdout is not None
        if self._readable(timeout_s):
            chunk = os.read(self._process.stdout.fileno(), _EXCERPT)
            if not chunk:
                return f"ended after its reply: {self._how_it_died()[0]}"
            self._buffer += chunk
        return self._more() or self.scratch.harm()

    def _more(self) -> str:
        excerpt = self._buffer[:_EXCERPT].decode(errors="replace")
        return f"more than one line for one request: {excerpt!r}" if excerpt else ""

    def _send(self, line: bytes, deadline: Deadline) -> None:
        """Write a request. A process that does not read it in time has also timed out."""
        assert self._process is not None
        assert self._process.stdin is not None
        pipe = self._process.stdin
        data = memoryview(line)
        self._sent = 0
        while data:
            if not pipes.wait_writable(pipe, deadline.left(), self._errors):
                raise self._timed_out(deadline)
            written = os.write(pipe.fileno(), data)
            self._sent += written
            data = data[written:]

    def _read_line(self, deadline: Deadline, limit: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        end = -1
        while end < 0:
            if not self._readable_or_ended(deadline):
                raise self._timed_out(deadline)
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise BrokenPipeError
            end = chunk.find(b"\n")
            end += len(self._buffer) if end >= 0 else 0
            self._buffer += chunk
            if max(end, len(self._buffer) if end < 0 else 0) > limit:
                raise self.violation(f"a reply of over {limit:,} bytes, more than any should have")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _readable(self, timeout_s: float) -> bool:
        """Return whether the process printed something or closed its stdout within this time."""
        assert self._process is not None
        assert self._process.stdout is not None
        return timeout_s >= 0 and pipes.wait_readable(self._process.stdout, timeout_s, self._errors)

    def _readable_or_ended(self, deadline: Deadline) -> bool:
        """Return whether `_readable` holds in time. Raises BrokenPipeError for a process that ended
        while a child of it holds its stdout open."""
        assert self._process is not None
        while not self._readable(min(deadline.left(), _LOOK_S)):
            if self._process.poll() is not None and not self._readable(0):
                raise BrokenPipeError
            if deadline.left() < 0:
                return False
        return True

    def _timed_out(self, deadline: Deadline) -> BackendFailure:
        how = f"no reply within {deadline.timeout_s:g} s"
        if self._untouched():
            self._blame(self.asked - 1, "took no other request after its reply")
            return NotAsked(how)
        self._kill()
        return BackendFailure("timeout", how)

    def _died(self) -> BackendFailure:
        how, output = self._how_it_died()
        if self._untouched():
            self._blame(self.asked - 1, f"ended after its reply: {how}")
            return NotAsked(how)
        self._kill()
        return BackendFailure("crashed", how, output)

    def _untouched(self) -> bool:
        """Return whether the process read none of this request, but replied to the last."""
        assert self._process is not None
        assert self._process.stdin is not None
        return self.asked > self._first and pipes.unread(self._process.stdin) >= self._sent

    def _how_it_died(self) -> tuple[str, str]:
        """Return how it died in one line, with its error; and its last lines, if more than one."""
        assert self._process is not None
        assert self._errors is not None
        deadline = Deadline(1)
        while (code := self._exit_status()) is None:
            if deadline.left() < 0:
                return ("closed its pipes" if self._untouched() else "closed its stdout"), ""
            self._errors.drain(_PAUSE_S)
        self._errors.drain()
        names = {s.value: s.name for s in signal.Signals}
        how = f"exit status {code}" if code >= 0 else f"signal {names.get(-code, -code)}"
        printed = last_lines(self._errors.tail)
        error = error_line(printed)
        missing = "" if self._hello else _absent(self.command)
        parts = filter(None, [how, error, missing])
        return ": ".join(parts), "\n".join(printed) if len(printed) > 1 else ""

    def _exit_status(self) -> int | None:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_PAUSE_S)
        return None

    def _kill(self) -> None:
        """End the process and all that it started, even if it has ended already."""
        if self._group is None:
            return
        self._group.end()
        errors = self._errors.pipe if self._errors else None
        for stream in (self._group.process.stdin, self._group.process.stdout, errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._group = self._hello = None


def _absent(command: list[str]) -> str:
    """Return a note on a file that a command names and that does not exist; "" if there is none.
    Commands that run a Python module name no file: the engine llama.cpp only looks like one."""
    if "-m" in command:
        return ""
    scripts = [word for word in command[1:] if _SCRIPT.search(word) and not os.path.exists(word)]
    return f"{', '.join(scripts)} is not there" if scripts else ""
