"""A proxy before a real llama-server that resolves defaults in a wrong order."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from sampler_parity.programs.servers.address import Address
from tests.support.fake_server import FakeServer, serving

Sent = dict[str, Any]
Resolve = Callable[[str, Sent], Sent]  # of a path and a request
Report = Callable[[Sent], Sent]  # of what /props has
_SECONDS = 60
PROGRAM = {"temperature": 0.8, "top_k": 40}


@dataclass(frozen=True)
class Resolution:
    """A wrong way to resolve defaults. result: the one that names it."""

    name: str
    result: str
    resolve: Resolve = lambda _, sent: sent
    report: Report = lambda props: props
    flags_are_stated: bool = True


def _unless_sent(values: Sent, where: Callable[[str, Sent], bool] = lambda *_: True) -> Resolve:
    return lambda path, sent: {**values, **sent} if where(path, sent) else sent


def _always(values: Sent) -> Resolve:
    return lambda _, sent: {**sent, **values}


def _zero_is_unset(_: str, sent: Sent) -> Sent:
    return {k: v for k, v in sent.items() if k != "top_k" or v != 0}


def _null_is_of_the_program(_: str, sent: Sent) -> Sent:
    return {k: PROGRAM.get(k, v) if v is None else v for k, v in sent.items()}


def _reports_of_the_program(props: Sent) -> Sent:
    props["default_generation_settings"]["params"] |= PROGRAM
    return props


def _of_chat(path: str, _: Sent) -> bool:
    return "chat" in path


def _streams(_: str, sent: Sent) -> bool:
    return bool(sent.get("stream"))


# The server has --temp 0.6 --top-k 20 --seed 42, and a model with temp 1.0 and penalty_repeat 1.3.
FLAGS = {"temp": 0.6, "top_k": 20, "seed": 42}
METADATA = {"general.sampling.temp": 1.0, "general.sampling.penalty_repeat": 1.3}
RESOLUTIONS = (
    Resolution("ignores its flags", "parameter/top_k", _unless_sent(PROGRAM)),
    Resolution(
        "ignores the flags that it reports",
        "parameter/top_k",
        _unless_sent(PROGRAM),
        flags_are_stated=False,
    ),
    Resolution(
        "ignores metadata", "parameter/repeat_penalty", _unless_sent({"repeat_penalty": 1.0})
    ),
    Resolution(
        "puts metadata before flags", "parameter/temperature", _unless_sent({"temperature": 1.0})
    ),
    Resolution("puts flags before requests", "parameter/top_k", _always({"top_k": 20})),
    Resolution("takes 0 for a missing value", "state/every answer: settings", _zero_is_unset),
    Resolution("takes null for the program's default", "parameter/top_k", _null_is_of_the_program),
    Resolution(
        "ignores flags in a chat",
        "endpoint/top_k of /v1/chat/completions",
        _unless_sent(PROGRAM, _of_chat),
    ),
    Resolution(
        "ignores flags in streams", "parameter/top_k", _unless_sent({"top_k": 40}, _streams)
    ),
    Resolution("ignores the seed of its flag", "parameter/seed", _unless_sent({"seed": -1})),
    Resolution(
        "reports the program's defaults", "parameter/defaults", report=_reports_of_the_program
    ),
)


@contextmanager
def resolving(upstream: Address, resolution: Resolution) -> Iterator[Address]:
    """Serve on the loopback address what the server answers to the changed requests."""
    fields = {"upstream": upstream, "resolution": resolution}
    handler = type("Handler", (_Handler,), fields)
    with serving(FakeServer(("127.0.0.1", 0), handler)) as address:
        yield address


class _Handler(BaseHTTPRequestHandler):
    upstream: Address
    resolution: Resolution

    def do_GET(self) -> None:
        status, kind, body = self._forwarded(None)
        if self.path == "/props" and status == 200:
            body = json.dumps(self.resolution.report(json.loads(body))).encode()
        self._answer(status, kind, body)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith(("completion", "completions")):
            sent = self.resolution.resolve(self.path, sent)
        self._answer(*self._forwarded(json.dumps(sent).encode()))

    def _forwarded(self, body: bytes | None) -> tuple[int, str, bytes]:
        upstream = self.upstream
        connection = http.client.HTTPConnection(upstream.host, upstream.port, timeout=_SECONDS)
        try:
            connection.request(self.command, self.path, body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.getheader("Content-Type", ""), reply.read()
        finally:
            connection.close()

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass
