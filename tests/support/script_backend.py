"""Small scripts that stand for backends."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess

GREETING = json.dumps(
    {"ok": True, "name": "script", "version": "1", "capabilities": ["run"], "samplers": []}
)
REPLY = '{"ok":true,"ns":[7]}'
REQUEST = p.TimeRequest(chain=[], n_vocab=1, rows=p.Rows(at=0, count=1, n=1), repetitions=1)

# Greets, then acts on every request as its second argument states.
SCRIPT = """
import os, sys, time
say = lambda text: os.write(1, text.encode())
sys.stdin.readline()
say(sys.argv[1] + "\\n")
for line in sys.stdin:
    if '"bye"' in line:
        break
    exec(sys.argv[2])
"""


@contextmanager
def backend(
    act: str, greeting: str = GREETING, timeout_s: float = 20.0, sandbox: bool = False
) -> Iterator[BackendProcess]:
    command = [sys.executable, "-c", SCRIPT, greeting, act]
    process = BackendProcess("script", command, timeout_s, sandbox=sandbox)
    try:
        yield process
    finally:
        process.close()


def failure(process: BackendProcess) -> BackendFailure:
    with pytest.raises(BackendFailure) as caught:
        process.ask(REQUEST, p.TimeReply)
    return caught.value
