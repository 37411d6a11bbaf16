"""Run the loop of a backend in Python: read a request from each line and answer it, until bye.

All output of the backend or its native library goes to stderr, so it cannot be taken for a reply.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.environment import limit_memory
from sampler_parity.harness.protocol.interface import Worker
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.protocol.server import answer, in_version


def serve(worker: Worker, replies: Any) -> None:
    scratch: Scratch | None = None
    spoken = p.PROTOCOL_VERSION
    for line in sys.stdin.buffer:  # UTF-8, whatever the system takes for text
        number = None
        try:
            request = p.request_of(p.data_of(line))
        except ValueError as error:
            reply: p.Reply | p.ErrorReply = p.ErrorReply(kind="rejected", message=str(error))
        else:
            number = request.number
            if isinstance(request, p.ByeRequest):
                return
            if isinstance(request, p.HelloRequest):
                scratch, spoken = _scratch_of(request), request.protocol
            if scratch is None:
                reply = p.ErrorReply(kind="rejected", message=_no_scratch(request))
            else:
                reply = answer(worker, scratch, request)
        if isinstance(reply, p.HelloReply):
            reply = in_version(reply, spoken)
            more = [*reply.capabilities, "numbers", "table", "many"]
            reply = reply.model_copy(update={"capabilities": more})
        replies.write(p.to_line(reply, number) + "\n")
        replies.flush()


def _scratch_of(hello: p.HelloRequest) -> Scratch | None:
    """Return its scratch file; None for an unknown version, which may mean another file."""
    return Scratch(Path(hello.scratch)) if hello.protocol in p.SPOKEN else None


def _no_scratch(request: p.Request) -> str:
    if isinstance(request, p.HelloRequest):
        spoken = " and ".join(map(str, p.SPOKEN))
        return f"speaks protocol {spoken}, was asked for {request.protocol}"
    return "say hello first"


def run_worker(make: Callable[[], Worker]) -> None:
    """Serve until bye. make: called after stdout is redirected, as it may print."""
    limit_memory()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(make(), replies)
