"""Replies of adapters, for each request: an invalid reply is `crashed`, whatever it contains."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from sampler_parity.harness.bundle.records import CaseResult, Result
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.pipes import Deadline
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.sanitize.limits import json_of
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import JSON
from tests.support.client_requests import CAPTURE, GENERATE, ROW, SETTING, THROUGHPUT, TOP_K, V
from tests.support.skip_ratios import measured, result

_CLAIMS = ["run", "draws", "time", "decode", "generate", "throughput", "skip_ratio", "devices"]
_CLAIMS += ["capture", "numbers", "many"]
_GREETING = {"ok": True, "name": "replying", "version": "1", "capabilities": _CLAIMS}
_GREETING |= {"samplers": ["top_k"], "uncallable": {"dry": "no vocabulary"}}
_ABOUT = {"id": "a", "description": "d", "why": "w"}
_CASE = _ABOUT | {"chain": TOP_K, "logits": {"values": ROW.tolist()}}


@dataclass
class Replying(BackendProcess):
    """A backend that was greeted, and whose reply to anything is this line."""

    line: bytes = b""
    greets: bool = False

    def _start(self) -> None:
        self._kill()
        self._first = self.asked + 2
        self._hello = p.HelloReply.model_validate(_GREETING)
        if self.greets:
            self._hello = None
            self._hello = self._exchange(p.HelloRequest(scratch=""), p.HelloReply, 60.0)

    def _kill(self) -> None:
        self._hello = None

    def settle(self, timeout_s: float = 0) -> None:
        self.late.clear()

    def _send(self, line: bytes, deadline: Deadline) -> None:
        """Do nothing: nobody reads it."""

    def _read_line(self, deadline: Deadline, limit: int) -> bytes:
        if len(self.line) > limit:
            raise self.violation("too long")
        self.scratch.write(0, np.ones(4 * V, np.float32))
        number = b'"number":%d' % self.asked
        return self.line.replace(b'"number":0', number).replace(b'"number": 0', number)


@cache
def _replying() -> Replying:
    return Replying("replying", ["true"])


def _recorded(record: BaseModel, kind: type[Result]) -> None:
    """Check that a record that is written into a bundle can be read from it."""
    kind.model_validate(json_of(p.to_line(record)))


def _run(backend: Replying) -> None:
    _recorded(execute(StagesCase.model_validate(_CASE), [backend]), CaseResult)


def _many(backend: Replying) -> None:
    ready = prepare(StagesCase.model_validate(_CASE))
    run = client.RunCall(ready.setting, ready.rows, ready.steps)
    for ran in client.many(backend, [run, run]):
        assert isinstance(ran, client.Ran | BackendFailure)


def _skip_ratio(backend: Replying) -> None:
    request = p.SkipRatioRequest(
        model="m", leaves=["a"] * 30, prompts=["b"], rounds=8, seed=0, delay_ms=0
    )
    _recorded(result(client.skip_ratio(backend, request, 60.0)), SkipRatioResult)


def _hello(backend: Replying) -> None:
    backend.greets = True
    try:
        backend.hello()
    finally:
        backend.greets = False
        backend._kill()


_OK = {"ok": True, "number": 0}
_STAGE = {"at": 64, "n": 2, "sorted": True, "selected": -1}
_RUN = {"tokens": [None], "stages": [[_STAGE]], "ns": 5}
_RUNS = [{"ok": True} | _RUN, {"ok": False, "kind": "rejected", "message": "no"}]
_REPLIES: dict[str, tuple[dict[str, Any], Callable[[Replying], object]]] = {
    "hello": (_GREETING, _hello),
    "run": (_RUN, _run),
    "many": ({"replies": _RUNS}, _many),
    "draws": ({"ns": 5}, lambda b: client.draws(b, SETTING, ROW, 3)),
    "time": ({"ns": [5, 6], "setup_ns": [1, 1]}, lambda b: client.time(b, SETTING, ROW, 2)),
    "decode": ({}, lambda b: client.decode(b, "m", V, [1, 2])),
    "tokenize": (
        {"tokens": [[1, 2], []], "n_vocab": V, "n_context": 9},
        lambda b: client.tokenize(b, "m", ["a", "b"]),
    ),
    "capture": ({}, lambda b: client.capture(b, CAPTURE)),
    "devices": ({"devices": [{"name": "cpu", "runs": True, "about": "x"}]}, client.devices),
    "generate": (
        {"tokens": [1, 2], "ns": 5, "in_graph": 0, "handed_back": []},
        lambda b: client.generate(b, GENERATE),
    ),
    "throughput": (
        {"prompt_ns": 3, "sample_ns": [1, 2], "decode_ns": [3, 4], "in_graph": 0},
        lambda b: client.throughput(b, THROUGHPUT),
    ),
    "skip_ratio": ({"measured": json.loads(p.to_line(measured()))}, _skip_ratio),
}


def _row(name: str, reply: dict[str, Any], asks: Callable[[Replying], object]) -> Fuzzed:
    refusal = {"ok": False, "kind": "rejected", "message": "no", "number": 0}
    samples = [json.dumps(sent).encode() for sent in (_OK | reply, _OK | reply, refusal)]

    def read(path: Path) -> None:
        backend = _replying()
        backend.line = path.read_bytes().partition(b"\n")[0]
        asks(backend)

    return Fuzzed(f"reply to {name}", "reply", lambda _: samples, read, JSON, 40, (BackendFailure,))


INPUTS = [_row(name, reply, asks) for name, (reply, asks) in _REPLIES.items()]
