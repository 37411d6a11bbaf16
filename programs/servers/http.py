"""Send one request to one server, within a limit of time and of bytes.

A connection goes to the address that was given. Python's http.client follows no redirect and reads
no proxy from the environment; nothing is sent twice. Every fault of a server is a `ServerFailure`
with one line:

    timeout   the answer is not whole when the time is over, however slowly its bytes come
    crashed   no connection, one that is closed in the middle, not HTTP, a status of 500 or more
    rejected  the answer is not usable: not JSON, too large, compressed, half an event, a redirect

An answer has no more bytes than its request can need (`most`), and no more values than so many
bytes hold. Both are counted before it is parsed, so that no parser takes long or much memory.

A status of 400 to 499 is an answer: the server refuses the request, and gives a reason.
"""

import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.harness.sanitize.printable import one_line, visible
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.connection import Limited, TooMuch, connected

SECONDS = 60.0
_FRAMES = 1 << 20  # bytes of headers; framing of small chunks may take four times the answer
_KEY = "[key]"  # replaces a key that a server sends back
_LINE = 300  # most characters of a server's text in one line


class ServerFailure(Exception):  # noqa: N818 - a verdict on a server, not a defect of ours
    """Raised if no valid answer comes. sent: the request, if known."""

    def __init__(
        self,
        verdict: Literal["timeout", "crashed", "rejected"],
        line: str,
        sent: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(verdict, visible(one_line(line, _LINE)))
        self.verdict = verdict
        self.sent = sent or {}

    @property
    def line(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True)
class Reply:
    """A reply. status: 200 to 299, or 400 to 499 for a refusal. data: its JSON; the text of a
    refusal without JSON."""

    status: int
    data: Any

    @property
    def refused(self) -> bool:
        return self.status >= 400

    @property
    def reason(self) -> str:
        """Return why it was refused, in one line."""
        data = self.data
        for key in ("error", "message", "detail"):
            data = data.get(key, data) if isinstance(data, dict) else data
        text = data if isinstance(data, str) else json.dumps(data)
        return str(visible(one_line(text, _LINE)))


@dataclass(frozen=True)
class StreamEvent:
    """An event of a stream, and the time of its arrival (time.monotonic)."""

    data: Any
    at: float


def ask(
    address: Address,
    path: str,
    body: Any = None,
    seconds: float = SECONDS,
    most: int = limits.REPORT,
) -> Reply:
    """Send a body as JSON, or get without one. Raises ServerFailure."""
    with _answer(address, path, body, seconds, most) as (answer, _):
        return _reply(address, path, answer, most)


def ask_in_turn(
    address: Address, path: str, bodies: Sequence[Any], seconds: float, most: int = limits.REPORT
) -> list[Reply]:
    """Send bodies one after the other on one connection, until the server closes it. Raises
    ServerFailure."""
    replies: list[Reply] = []
    with _connected(address, path, seconds, most) as (connection, _):
        for body in bodies:
            connection.request(*_request(address, path, body, "keep-alive"))
            with connection.getresponse() as answer:
                _check_status(path, answer)
                replies.append(_reply(address, path, answer, most))
                if answer.will_close:
                    break
    return replies


def _reply(address: Address, path: str, answer: http.client.HTTPResponse, most: int) -> Reply:
    content = answer.read(most + 1)
    if len(content) > most:
        raise _too_much(path, most)
    if answer.length:
        raise _closed(path)
    _check_values(path, _values(content), most)
    return Reply(answer.status, _data(path, _keyless(address, content), answer.status))


def stream(
    address: Address,
    path: str,
    body: Any,
    seconds: float = SECONDS,
    most: int = limits.REPORT,
    leave_after: int | None = None,
) -> list[StreamEvent] | Reply:
    """Return the events of an answer that comes in parts; a Reply where it was refused.
    leave_after: close the connection after so many events. Raises ServerFailure."""
    events: list[StreamEvent] = []
    with _answer(address, path, body, seconds, most) as (answer, limited):
        if answer.status >= 400:
            return _reply(address, path, answer, most)
        taken = values = 0
        while line := answer.readline(most + 1):
            taken += len(line)
            if taken > most:
                raise _too_much(path, most)
            if not line.endswith(b"\n"):
                raise ServerFailure("crashed", f"{path}: the stream ends in the middle of a line")
            if line.startswith((b"data:", b"{")):
                values += _values(line)
                _check_values(path, values, most)
                text = _keyless(address, line.removeprefix(b"data:").strip())
                if text == b"[DONE]":
                    return events
                events.append(StreamEvent(_data(path, text, answer.status), time.monotonic()))
                if len(events) > most // limits.BYTES_OF_EVENT:
                    raise _too_many(path, most // limits.BYTES_OF_EVENT, "events")
                if leave_after is not None and len(events) >= leave_after:
                    return events
        if answer.length or (answer.chunked and limited.ended):
            raise _closed(path)
    return events


@contextmanager
def _answer(
    address: Address, path: str, body: Any, seconds: float, most: int
) -> Iterator[tuple[http.client.HTTPResponse, Limited]]:
    """Ask on a connection of its own."""
    with _connected(address, path, seconds, most) as (connection, limited):
        connection.request(*_request(address, path, body))
        with connection.getresponse() as answer:
            _check_status(path, answer)
            yield answer, limited


@contextmanager
def _connected(
    address: Address, path: str, seconds: float, most: int
) -> Iterator[tuple[http.client.HTTPConnection, Limited]]:
    """Open a connection; it ends when the time is over."""
    until = time.monotonic() + seconds
    try:
        with closing(connected(address, until)) as plain:
            limited = Limited(plain, until, _FRAMES + 4 * most)
            connection = http.client.HTTPConnection(address.host, address.port)
            connection.default_port = {"http": 80, "https": 443}[address.scheme]
            connection.sock = limited  # so that it makes none of its own
            connection.auto_open = 0  # a closed connection must fail, not reconnect
            yield connection, limited
    except ServerFailure as failure:
        line = failure.line.replace(address.key, _KEY) if address.key else failure.line
        raise ServerFailure(failure.verdict, line) from None
    except TimeoutError:
        raise ServerFailure("timeout", f"{path}: no complete answer in {seconds:g} s") from None
    except TooMuch:
        raise _too_much(path, most) from None
    except (http.client.HTTPException, OSError) as error:
        raise ServerFailure("crashed", f"{path}: {_why(error)}") from None
    except (ValueError, OverflowError) as error:  # of http.client, at the size of a chunk
        raise ServerFailure("crashed", f"{path}: the answer is not HTTP: {error}") from None


def _request(
    address: Address, path: str, body: Any, connection: str = "close"
) -> tuple[str, str, bytes | None, dict[str, str]]:
    headers = {"Accept": "application/json", "Connection": connection}
    if address.key:
        headers["Authorization"] = f"Bearer {address.key}"
    if body is None:
        return "GET", address.base + path, None, headers
    headers["Content-Type"] = "application/json"
    return "POST", address.base + path, json.dumps(body).encode(), headers


def _check_status(path: str, answer: http.client.HTTPResponse) -> None:
    if 300 <= answer.status < 400:
        where = one_line(answer.getheader("Location", "nowhere"), 100)
        raise ServerFailure("rejected", f"{path}: redirects to {where}; redirects are not followed")
    if answer.status >= 500:
        text = answer.read(4096).decode(errors="replace")
        raise ServerFailure("crashed", f"{path}: status {answer.status}: {text}")
    if not 200 <= answer.status < 500:
        raise ServerFailure("rejected", f"{path}: status {answer.status}")
    packed = answer.getheader("Content-Encoding", "").strip().lower()
    if packed not in ("", "identity"):  # no request accepts another
        raise ServerFailure("rejected", f"{path}: unsupported Content-Encoding {packed}")


def _keyless(address: Address, content: bytes) -> bytes:
    return content.replace(address.key.encode(), _KEY.encode()) if address.key else content


def _data(path: str, content: bytes, status: int) -> Any:
    try:
        return json_of(content, 1 << 64)
    except ValueError as error:
        if status >= 400:
            return content[:_LINE].decode(errors="replace")
        raise ServerFailure("rejected", f"{path}: the answer is not JSON: {error}") from None


def _values(content: bytes) -> int:
    """Return at least the number of values in a JSON text, without parsing it."""
    return content.count(b",") + content.count(b"[") + content.count(b"{")


def _check_values(path: str, values: int, most: int) -> None:
    if values > most // limits.BYTES_OF_VALUE:
        raise _too_many(path, most // limits.BYTES_OF_VALUE, "values")


def _too_much(path: str, most: int) -> ServerFailure:
    return _too_many(path, most, "bytes")


def _too_many(path: str, most: int, what: str) -> ServerFailure:
    return ServerFailure("rejected", f"{path}: the answer has more than {most:,} {what}")


def _closed(path: str) -> ServerFailure:
    return ServerFailure("crashed", f"{path}: the server closed the connection in the answer")


def _why(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "the server closed the connection in the answer"
    return f"{type(error).__name__}: {error}"
