"""A server that answers every connection with the bytes that a test names, on the loopback."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from sampler_parity.programs.servers.address import Address

Answering = Callable[[socket.socket], None]


@dataclass
class Raw:
    """requests: the bytes of each."""

    address: Address
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def raw_server(answering: Answering | bytes) -> Iterator[Raw]:
    """Yield a server. answering: bytes to send before the connection ends, or a function that
    answers.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        raw = Raw(Address("http", "127.0.0.1", listener.getsockname()[1]))
        thread = threading.Thread(target=_serve, args=(listener, answering, raw))
        thread.start()
        yield raw
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def _serve(listener: socket.socket, answering: Answering | bytes, raw: Raw) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            raw.requests.append(_request(connection))
            if callable(answering):
                answering(connection)
            else:
                connection.sendall(answering)


def _request(connection: socket.socket) -> bytes:
    """Read all of the request: a connection that is closed before its end is reset."""
    got = connection.recv(1 << 16)
    while got:
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if got[:1] == b"\x16":  # TLS: its first message is all
            break
        if b"\r\n\r\n" in got and len(body) >= int(length[1] if length else 0):
            break
        if not (more := connection.recv(1 << 16)):
            break
        got += more
    return got


def http_bytes(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def hangs(connection: socket.socket) -> None:
    while connection.recv(1 << 16):  # nothing, until the client goes
        pass


def drips(first: bytes, again: bytes) -> Answering:
    """Return a function that sends bytes forever, without a long pause."""

    def answering(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(0.002)

    return answering
