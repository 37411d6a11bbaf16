"""Connect to a server until a time, whatever the server does, and read a limited number of bytes.

Every wait has the rest of the time: for each address of a name, for the keys of TLS, and for each
part of an answer. Bytes are counted before anything reads them, headers and frames, too.
"""

import io
import socket
import ssl
import time

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.servers.address import Address


class TooMuch(Exception):  # noqa: N818 - a verdict on a server, not a defect of ours
    """More bytes came than an answer may have."""


def connected(address: Address, until: float) -> socket.socket:
    """Connect. until: of time.monotonic. Raises OSError, and TimeoutError when the time is over."""
    plain = _plain(address, until)
    return _with_keys(plain, address, until) if address.scheme == "https" else plain


def reached(address: Address, timeout_s: float) -> None:
    """Raise InputError if nothing listens: then no result is a verdict on a server."""
    try:
        _plain(address, time.monotonic() + timeout_s).close()
    except OSError as error:
        why = error.strerror or str(error) or "no answer"
        raise InputError(address.url, f"cannot be reached: {why}", "start the server") from None


def _plain(address: Address, until: float) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a part of a name that is too long
        raise OSError(str(error)) from None
    failed = OSError("no address")
    for i, (family, kind, number, _, where) in enumerate(addresses):
        plain = socket.socket(family, kind, number)
        try:
            # an address that does not answer leaves time for the next
            plain.settimeout(left(until) / (len(addresses) - i))
            plain.connect(where)
            return plain
        except OSError as error:
            plain.close()
            failed = error
    raise failed


def _with_keys(plain: socket.socket, address: Address, until: float) -> socket.socket:
    plain.settimeout(left(until))  # of the whole handshake
    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=address.host)
    except BaseException:
        plain.close()
        raise


def left(until: float) -> float:
    """Return the seconds left. Raises TimeoutError if there are none."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


class Limited(io.RawIOBase):
    """Read the bytes of a connection. ended: whether the server has closed it.

    It has what http.client needs of a socket: `sendall`, `makefile`, and a `close` that does
    nothing, for with `Connection: close` it comes before the answer is read.
    """

    def __init__(self, plain: socket.socket, until: float, most: int) -> None:
        self.plain, self.until, self.most = plain, until, most
        self.ended = False

    def sendall(self, content: bytes) -> None:
        self.plain.settimeout(left(self.until))
        self.plain.sendall(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def close(self) -> None:
        pass

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.plain.settimeout(left(self.until))
        count = self.plain.recv_into(buffer)
        self.ended = count == 0
        self.most -= count
        if self.most < 0:
            raise TooMuch
        return count
