"""A proxy in front of a llama-server that can do one thing wrong.

`between(address, fault)` forwards every request. A fault sees the body of a request to
/completion, the whole answer, and each piece of a stream, and may change them. `Faults` is a list
of them by name.
"""

import copy
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sampler_parity.harness.servers.address import Address

Body = dict[str, Any]


@dataclass(eq=False)
class Exchange:
    """A request under way. nth: how many came before on its connection. others: those in
    flight with it."""

    asked: Body
    nth: int
    others: "list[Exchange]"
    sent: Body = field(default_factory=dict)
    text: str = ""
    answer: Body | None = None

    @property
    def streamed(self) -> bool:
        return bool(self.asked.get("stream"))


class Fault:
    """A faithful proxy. A subclass overrides what it does wrong."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        """Change the body that the server gets, in place."""

    def at_once(self, exchange: Exchange) -> Body | None:
        """Return an answer without asking the server."""
        return None

    def answer(self, answer: Body, exchange: Exchange) -> None:
        """Change a whole answer in place."""

    def answers(self, answers: list[Body], exchange: Exchange) -> None:
        """Change the answers to a request for several texts in place."""
        for answer in answers:
            self.answer(answer, exchange)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        """Change a piece of a stream in place. Returns False to leave it out."""
        return True

    def refused(self, exchange: Exchange) -> None:
        """Note that the server refused a request."""

    def left(self, exchange: Exchange) -> None:
        """Note that a client left in the middle of a stream."""


class Answers(Fault):
    """Change whole answers and the pieces of streams in the same way."""

    def change(self, answer: Body, asked: Body) -> None:
        """Change an answer or a piece in place."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        self.change(answer, exchange.asked)

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        self.change(piece, exchange.asked)
        return True


class Faults(dict[str, Callable[[], Fault]]):
    """Faults by name, in order. Its methods are decorators."""

    def fault(self, kind: type[Fault]) -> type[Fault]:
        """Add a class to the list."""
        words = "".join(f"-{c.lower()}" if c.isupper() else c for c in kind.__name__)
        self[words.strip("-")] = kind
        return kind

    def edit(self, change: Callable[[Body], object]) -> None:
        """Add a fault that changes each request in the same way."""

        class Edit(Fault):
            def ask(self, body: Body, exchange: Exchange) -> None:
                change(body)

        self[change.__name__.replace("_", "-")] = Edit


def number(body: Body, name: str) -> float | None:
    """Return a parameter if it is a number."""
    value = body.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def told(answer: Body) -> list[Body]:
    """Return the entries of the probabilities, one for each token."""
    return answer.get("completion_probabilities") or []


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fault: Fault
    upstream: Address
    flying: list[Exchange]
    lock: threading.Lock


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    nth = 0

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
            return self._forward(data, None)
        server = self.server
        with server.lock:
            exchange = Exchange(json.loads(data), self.nth, list(server.flying), body)
            self.nth += 1
            server.flying.append(exchange)
            server.fault.ask(body, exchange)
        try:
            if (ready := server.fault.at_once(exchange)) is not None:
                return self._whole(200, ready)
            self._forward(json.dumps(body).encode(), exchange)
        finally:
            with server.lock:
                if exchange in server.flying:
                    server.flying.remove(exchange)

    def _forward(self, data: bytes | None, exchange: Exchange | None) -> None:
        upstream = self.server.upstream
        connection = HTTPConnection(upstream.host, upstream.port, timeout=60)
        kept = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept")}
        try:
            connection.request(self.command, self.path, data, kept)
            got = connection.getresponse()
            if "event-stream" in (got.getheader("Content-Type") or ""):
                return self._stream(got, exchange)
            read = got.read()
            if exchange is None:
                return self._bytes(got.status, read, got.getheader("Content-Type"))
            if got.status != 200:
                self.server.fault.refused(exchange)
                return self._bytes(got.status, read, got.getheader("Content-Type"))
            answer = json.loads(read)
            answers = answer if isinstance(answer, list) else [answer]
            with self.server.lock:
                exchange.answer = copy.deepcopy(answers[0])
                self.server.flying.remove(exchange)  # before the client can send the next one
                for each in answers:
                    _echo(each, exchange)
                self.server.fault.answers(answers, exchange)
            self._whole(200, answer)
        finally:
            connection.close()

    def _whole(self, status: int, answer: Body | list[Body]) -> None:
        self._bytes(status, json.dumps(answer).encode(), "application/json; charset=utf-8")

    def _bytes(self, status: int, data: bytes, kind: str | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind or "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, got: HTTPResponse, exchange: Exchange | None) -> None:
        self.send_response(got.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while line := got.readline():
                if exchange is not None and line.startswith(b"data: {"):
                    piece = json.loads(line[6:])
                    exchange.text += piece.get("content", "")
                    _echo(piece, exchange)
                    if not self.server.fault.piece(piece, exchange):
                        got.readline()
                        continue
                    line = b"data: " + json.dumps(piece).encode() + b"\n"
                if self._gone():
                    raise ConnectionError
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
            if exchange is not None:
                self.server.fault.left(exchange)

    def _gone(self) -> bool:
        ready, _, _ = select.select([self.connection], [], [], 0)
        return bool(ready) and self.connection.recv(1, socket.MSG_PEEK) == b""


def _echo(answer: Body, exchange: Exchange) -> None:
    """Report the settings as the client gave them, so that they do not give a fault away. The
    settings have no null."""
    settings = answer.get("generation_settings")
    if isinstance(settings, dict) and exchange.asked != exchange.sent:
        settings |= {k: v for k, v in exchange.asked.items() if k in settings and v is not None}


@contextmanager
def between(address: Address, fault: Fault) -> Iterator[Address]:
    """Start the proxy on a free port of the loopback address and give its address."""
    server = Server(("127.0.0.1", 0), Handler)
    server.fault, server.upstream = fault, address
    server.flying, server.lock = [], threading.Lock()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield Address("http", "127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        server.server_close()
