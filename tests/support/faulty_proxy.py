"""A proxy in front of a llama-server that can do one thing wrong.

`between(address, fault)` forwards every request. A fault sees the body of a request to
/completion, the whole answer, and each piece of a stream, and may change them.
"""

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sampler_parity.programs.servers.address import Address

Body = dict[str, Any]


@dataclass
class Exchange:
    """asked: the body of the client. sent: the body for the server, which a fault may change."""

    asked: Body
    sent: Body


class Fault:
    """A faithful proxy. A subclass overrides what it does wrong."""

    def ask(self, body: Body, exchange: Exchange) -> None:
        """Change the body that the server gets, in place."""

    def answer(self, answer: Body, exchange: Exchange) -> None:
        """Change a whole answer in place."""

    def piece(self, piece: Body, exchange: Exchange) -> bool:
        """Change a piece of a stream in place. Returns False to leave it out."""
        return True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fault: Fault
    upstream: Address
    lock: threading.Lock


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

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
        exchange = Exchange(json.loads(data), body)
        with self.server.lock:
            self.server.fault.ask(body, exchange)
        self._forward(json.dumps(body).encode(), exchange)

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
            kind = got.getheader("Content-Type") or "application/json"
            if exchange is None or got.status != 200:
                return self._bytes(got.status, read, kind)
            answer = json.loads(read)
            with self.server.lock:
                for each in answer if isinstance(answer, list) else [answer]:
                    _echo(each, exchange)
                    self.server.fault.answer(each, exchange)
            self._bytes(200, json.dumps(answer).encode(), "application/json; charset=utf-8")
        finally:
            connection.close()

    def _bytes(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
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
    server.lock = threading.Lock()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield Address("http", "127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        server.server_close()
