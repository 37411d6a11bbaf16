"""Adapters that break the protocol: `python -m sampler_parity.maintenance.selftest.adapters NAME`.

Each is the reference as a process. It is right except for one thing, which it does wrong when it is
asked for a case with 129 tokens; with on_hello, when it is greeted.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.protocol.server import answer
from sampler_parity.harness.verdicts import Verdict

TRIGGER = 129  # tokens of the row on which an adapter is wrong; others have one less and more


@dataclass(frozen=True)
class Adapter:
    """verdict: of the case that shows the fault. starts: processes that three cases then take."""

    name: str
    fault: str
    act: Callable[[Any], str | None]
    verdict: Verdict = "crashed"
    starts: int = 2
    on_hello: bool = False


def trial_cases() -> list[Case]:
    """Return three small cases; faults outside hello show in the second."""
    return [
        case_from(
            id=f"adapter/V{n}",
            description="A small case on an adapter that may break the protocol",
            why="A broken connection must cost one case its result and no other.",
            chain=[{"top_k": {"k": 40}}, {"temp": {"temp": 0.8}}, {"dist": {"seed": 1}}],
            logits=GeneratedLogits(family="normal", n=n, seed=3),
            steps=3,
        )
        for n in (TRIGGER - 1, TRIGGER, TRIGGER + 1)
    ]


def _die(_reply: Any) -> str:
    sys.stderr.write("cannot go on\n")
    sys.stderr.flush()
    os._exit(3)


def _abort(_reply: Any) -> str:
    sys.stderr.write("GGML_ASSERT(cur_p->size > 0) failed\n")
    sys.stderr.flush()
    os.abort()


def _segfault(_reply: Any) -> str:
    os.kill(os.getpid(), 11)
    return ""


def _hang(_reply: Any) -> str:
    time.sleep(600)
    return ""


def _late(reply: p.Reply) -> str:
    time.sleep(5)
    return p.to_line(reply)


def _silent(_reply: Any) -> None:
    return None


def _half_a_line(reply: p.Reply) -> str:
    _raw(p.to_line(reply)[:40])
    os._exit(0)


def _half_a_line_and_hang(reply: p.Reply) -> str:
    _raw(p.to_line(reply)[:40])
    time.sleep(600)
    return ""


def _close_stdout(_reply: Any) -> str:
    os.close(1)
    time.sleep(600)
    return ""


def _twice(reply: p.Reply) -> str:
    return p.to_line(reply) + "\n" + p.to_line(reply)


def _chatter_after(reply: p.Reply) -> str:
    return p.to_line(reply) + "\n" + "done in 3 ms"


def _no_line_end(_reply: Any) -> str:
    while True:
        _raw("x" * (1 << 20))


def _changed(**changes: Any) -> Callable[[p.Reply], str]:
    """Return an action that changes or adds keys of the right reply."""

    def act(reply: p.Reply) -> str:
        return json.dumps(json.loads(p.to_line(reply)) | changes)

    return act


def _without(key: str) -> Callable[[p.Reply], str]:
    def act(reply: p.Reply) -> str:
        return json.dumps({k: v for k, v in json.loads(p.to_line(reply)).items() if k != key})

    return act


def _stages(change: Callable[[list[Any]], list[Any]]) -> Callable[[p.Reply], str]:
    """Return an action that changes the stages of the right reply."""

    def act(reply: p.Reply) -> str:
        data = json.loads(p.to_line(reply))
        return json.dumps(data | {"stages": change(data["stages"])})

    return act


def _every_stage(**changes: int) -> Callable[[p.Reply], str]:
    return _stages(lambda steps: [[stage | changes for stage in stages] for stages in steps])


def _fewer_steps(reply: p.Reply) -> str:
    data = json.loads(p.to_line(reply))
    return json.dumps(data | {"tokens": data["tokens"][:-1], "stages": data["stages"][:-1]})


def _first_stage_left_out(reply: p.Reply) -> str:
    """Report the unchanged row as the candidates of the first stage."""
    data, at = json.loads(p.to_line(reply)), 1 << 20
    with _SCRATCH[0].open("r+b") as file:
        row = file.read(4 * TRIGGER)
        file.seek(at)
        ids = b"".join(i.to_bytes(4, "little") for i in range(TRIGGER))
        file.write(ids + row + bytes(4 * TRIGGER))
    data["stages"][0][0] |= {"at": at, "n": TRIGGER, "sorted": False}
    return json.dumps(data)


def _delete_scratch(reply: p.Reply) -> str:
    _SCRATCH[0].unlink()
    return p.to_line(reply)


def _delete_scratch_and_die(_reply: Any) -> str:
    _SCRATCH[0].unlink()
    os._exit(3)


def _truncate_scratch(reply: p.Reply) -> str:
    os.truncate(_SCRATCH[0], 0)
    return p.to_line(reply)


def _text(text: str) -> Callable[[Any], str]:
    return lambda _reply: text


_BUG = '{"ok":false,"kind":"%s","message":"no"}'

_LIST = [
    Adapter("dies", "exits with status 3", _die),
    Adapter("asserts", "fails an assertion and aborts", _abort),
    Adapter("segfaults", "ends by a segmentation fault", _segfault),
    Adapter("hangs", "never answers", _hang, "timeout"),
    Adapter("late", "answers rightly, but after its time", _late, "timeout"),
    Adapter("silent", "takes the request and goes on to wait for the next", _silent, "timeout"),
    Adapter("garbage", "prints what is no JSON", _text("\x00\x01 not json")),
    Adapter("bytes", "prints bytes that are not text", _text("\udcff\udcfe")),
    Adapter("deep-json", "prints 100,000 opening brackets", _text("[" * 100_000)),
    Adapter("number", "prints a number, which is JSON, but no object", _text("7")),
    Adapter("empty-line", "prints an empty line", _text("")),
    Adapter("no-line-end", "prints without an end", _no_line_end),
    Adapter("half-a-line", "prints half a reply and exits", _half_a_line),
    Adapter("half-a-line-hangs", "prints half a reply and hangs", _half_a_line_and_hang, "timeout"),
    Adapter("closes-stdout", "closes its standard output and lives on", _close_stdout),
    Adapter("replies-twice", "sends its reply twice", _twice),
    Adapter("chatter", "prints a line of its own after the reply", _chatter_after),
    Adapter("extra-keys", "replies with a key of another protocol", _changed(logprobs=[])),
    Adapter("missing-tokens", "replies without tokens", _without("tokens")),
    Adapter("text-for-numbers", "replies with words for tokens", _changed(tokens=["a", "b", "c"])),
    Adapter("fewer-steps", "replies with one step too few", _fewer_steps),
    Adapter("fewer-stages", "leaves out the last stage", _stages(lambda s: [x[:-1] for x in s])),
    Adapter("beyond-scratch", "points behind the scratch file", _every_stage(at=1 << 60)),
    Adapter("before-scratch", "points in front of the scratch file", _every_stage(at=-4)),
    Adapter("negative-count", "counts -1 candidates", _every_stage(n=-1)),
    Adapter("deletes-scratch", "deletes the scratch file", _delete_scratch),
    Adapter("deletes-scratch-dies", "deletes it and exits", _delete_scratch_and_die),
    Adapter("truncates-scratch", "empties the scratch file", _truncate_scratch),
    Adapter("unknown-refusal", "refuses in a way that the protocol lacks", _text(_BUG % "tired")),
    Adapter("rejects", "refuses the request", _text(_BUG % "rejected"), "rejected", 1),
    Adapter("unsupported", "reports that it cannot", _text(_BUG % "unsupported"), "unsupported", 1),
    Adapter(
        "zeros", "replies with the wrong numbers", _every_stage(at=1 << 20), "diverged", 1
    ),
    Adapter(
        "claims-a-sampler", "claims to have top_k, and leaves it out", _first_stage_left_out,
        "diverged", 1,
    ),
    Adapter(
        "claims-whole-chain", "claims to apply a chain as one object, and cannot",
        _changed(capabilities=["run", "whole_chain"]), "diverged", 1, on_hello=True,
    ),
    Adapter("hello-garbage", "greets with what is no JSON", _text("Hi!"), on_hello=True, starts=3),
    Adapter("hello-dies", "ends when greeted", _die, on_hello=True, starts=3),
    Adapter("hello-hangs", "never greets", _hang, "timeout", on_hello=True, starts=3),
    Adapter(
        "hello-extra-keys",
        "greets with a key that the protocol lacks",
        _changed(dialect="mine"),
        on_hello=True,
        starts=3,
    ),
    Adapter(
        "hello-another-protocol",
        "greets in another protocol",
        _changed(protocol=p.PROTOCOL_VERSION + 1),
        on_hello=True,
        starts=3,
    ),
    Adapter(
        "lacks-a-sampler",
        "does not know top_k",
        _changed(samplers=["dist", "temp"]),
        "skipped",
        on_hello=True,
        starts=1,
    ),
]  # fmt: skip

ADAPTERS: dict[str, Adapter] = {f"adapter/{a.name}": a for a in _LIST}

_SCRATCH: list[Path] = []


def _raw(text: str) -> None:
    data = text.encode(errors="surrogateescape")
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    adapter = ADAPTERS[f"adapter/{sys.argv[1]}"]
    backend = Worker()
    for line in sys.stdin:
        request = p.request_of(p.numbers(json.loads(line)))
        if isinstance(request, p.ByeRequest):
            return
        if isinstance(request, p.HelloRequest):
            _SCRATCH[:] = [Path(request.scratch)]
            scratch = Scratch(_SCRATCH[0])
        reply = answer(backend, scratch, request)
        if adapter.on_hello:
            hit = isinstance(request, p.HelloRequest)
        else:
            hit = isinstance(request, p.RunRequest) and request.n_vocab == TRIGGER
        text = adapter.act(reply) if hit else p.to_line(reply)
        if text is not None:
            _raw(text + "\n")


if __name__ == "__main__":
    main()
