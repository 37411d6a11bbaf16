"""A proxy in front of a llama-server that can do one thing wrong.

`between(address, fault)` forwards every request. A fault sees the body of a request to
/completion, the whole answer, and each piece of a stream, and may change them.
"""

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler
from typing import Any

from sampler_parity.programs.servers.address import Address
from tests.support.fake_server import FakeServer, serving

Body = dict[str, Any]


def _nothing(*_: Body) -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Fault:
    """A faithful proxy, but for what these functions change in place.

    ask: the body that the server gets. answer: a whole answer; it gets what the client asked, too.
    piece: a piece of a stream.
    """

    ask: Callable[[Body], object] = _nothing
    answer: Callable[[Body, Body], object] = _nothing
    piece: Callable[[Body], object] = _nothing


class Server(FakeServer):
    fault: Fault
    upstream: Address
    lock: threading.Lock


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    echoed: Body

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._forward(None, None)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        if not (isinstance(body, dict) and self.path == "/completion"):
            self._forward(data, None)
            return
        with self.server.lock:
            self.server.fault.ask(body)
        asked = json.loads(data)
        self.echoed = asked if asked != body else {}
        self._forward(json.dumps(body).encode(), asked)

    def _forward(self, data: bytes | None, asked: Body | None) -> None:
        upstream = self.server.upstream
        connection = HTTPConnection(upstream.host, upstream.port, timeout=60)
        kept = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept")}
        try:
            connection.request(self.command, self.path, data, kept)
            got = connection.getresponse()
            if "event-stream" in (got.getheader("Content-Type") or ""):
                return self._stream(got, asked)
            read = got.read()
            kind = got.getheader("Content-Type") or "application/json"
            if asked is None or got.status != 200:
                return self._bytes(got.status, read, kind)
            answer = json.loads(read)
            with self.server.lock:
                for each in answer if isinstance(answer, list) else [answer]:
                    _echo(each, self.echoed)
                    self.server.fault.answer(each, asked)
            self._bytes(200, json.dumps(answer).encode(), "application/json; charset=utf-8")
        finally:
            connection.close()

    def _bytes(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, got: HTTPResponse, asked: Body | None) -> None:
        self.send_response(got.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while line := got.readline():
                if asked is not None and line.startswith(b"data: {"):
                    piece = json.loads(line[6:])
                    _echo(piece, self.echoed)
                    self.server.fault.piece(piece)
                    line = b"data: " + json.dumps(piece).encode() + b"\n"
                if self._gone():
                    raise ConnectionError
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def _gone(self) -> bool:
        ready, _, _ = select.select([self.connection], [], [], 0)
        return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""


def _echo(answer: Body, asked: Body) -> None:
    """Report the settings as the client gave them, so that they do not give a fault away. The
    settings have no null."""
    settings = answer.get("generation_settings")
    if isinstance(settings, dict):
        settings |= {k: v for k, v in asked.items() if k in settings and v is not None}


@contextmanager
def between(address: Address, fault: Fault) -> Iterator[Address]:
    """Start the proxy on a free port of the loopback address and give its address."""
    server = Server(("127.0.0.1", 0), Handler)
    server.fault, server.upstream = fault, address
    server.lock = threading.Lock()
    with serving(server) as own:
        yield own
