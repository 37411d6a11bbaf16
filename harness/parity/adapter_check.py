"""`sampler-parity adapter check`: does a command speak the protocol? One line a check.

The input is small and the expected values are written down here, so that an author sees what is
asked. It says nothing about whether the samplers are right; `run` does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendFailure, BackendProcess
from sampler_parity.reference import ALL_SAMPLERS

LOGITS = [0.5, 3.0, -1.0, 2.0]
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Check:
    """passed is None where the adapter does not claim the capability."""

    name: str
    passed: bool | None
    detail: str = ""


def check_adapter(command: list[str]) -> Iterator[Check]:
    """Start the command and try each part of the protocol."""
    backend = BackendProcess("adapter", command, TIMEOUT_S)
    try:
        try:
            hello = backend.hello()
        except BackendFailure as failure:
            yield Check("hello", False, str(failure))
            return
        yield Check("hello", True, f"{hello.name} {hello.version}, samplers: {len(hello.samplers)}")
        yield _known_samplers(hello)
        yield from _run(backend, hello)
        yield _refuses_unknown_sampler(backend)
        yield _draws(backend, hello)
        yield _time(backend, hello)
    finally:
        backend.close()


def _known_samplers(hello: p.HelloReply) -> Check:
    unknown = sorted(set(hello.samplers) - set(ALL_SAMPLERS))
    return Check("sampler names are llama.cpp's", not unknown, ", ".join(unknown))


def _smallest_chains() -> dict[str, dict[str, object]]:
    """A valid setting of every sampler."""
    return {
        "greedy": {},
        "dist": {"seed": 1},
        "top_k": {"k": 2},
        "top_p": {"p": 0.9},
        "min_p": {"p": 0.1},
        "typical_p": {"p": 0.9},
        "temp": {"temp": 0.8},
        "temp_ext": {"temp": 0.8, "delta": 0.1},
        "xtc": {"p": 0.5, "t": 0.1, "seed": 1},
        "top_n_sigma": {"n": 1.0},
        "mirostat": {"seed": 1},
        "mirostat_v2": {"seed": 1},
        "penalties": {"penalty_last_n": 4, "penalty_repeat": 1.1},
        "dry": {"dry_multiplier": 0.8},
        "logit_bias": {"logit_bias": [[1, -1.0]]},
        "infill": {},
        "adaptive_p": {"target": 0.3, "seed": 1},
        "softmax": {},
        "tail_free": {"z": 0.9},
    }


def _put(backend: BackendProcess) -> p.Rows:
    row = np.array(LOGITS, np.float32)
    backend.scratch.ensure(1 << 16)
    backend.scratch.write(0, np.concatenate([row, row]))
    return p.Rows(at=0, count=2, n=len(row))


def _request(backend: BackendProcess, sampler: str, **changes: object) -> p.RunRequest:
    rows = _put(backend)
    request = p.RunRequest(
        chain=complete([{sampler: dict(_smallest_chains()[sampler])}], rows.n),
        n_vocab=rows.n,
        rows=rows,
        steps=[p.Step(row=0), p.Step(row=1)],
        out=1024,
    )
    return request.model_copy(update=changes)


def _run(backend: BackendProcess, hello: p.HelloReply) -> Iterator[Check]:
    if "run" not in hello.capabilities:
        yield Check("run", False, "the capability `run` is required")
        return
    usable = [name for name in hello.samplers if name in _smallest_chains() and name != "infill"]
    for sampler in usable:
        yield _run_one(backend, sampler)
    for name, steps in (
        ("reset", [p.Step(row=0), p.Step(row=1, before=[("reset", 0)])]),
        ("clone", [p.Step(row=0), p.Step(row=1, instance=1, before=[("clone", 0)])]),
    ):
        if usable:
            yield _answers(f"run with {name}", backend, _request(backend, usable[0], steps=steps))
    if usable:
        yield _answers("run, tokens only", backend, _request(backend, usable[0], detail="token"))


def _run_one(backend: BackendProcess, sampler: str) -> Check:
    name = f"run {sampler}"
    try:
        reply = backend.ask(_request(backend, sampler), p.RunReply)
    except BackendFailure as failure:
        return Check(name, False, f"{failure.verdict}: {failure}")
    if len(reply.tokens) != 2 or [len(stages) for stages in reply.stages] != [1, 1]:
        return Check(name, False, "2 steps with 1 stage each were asked for")
    for stages in reply.stages:
        stage = stages[0]
        if not 0 <= stage.n <= len(LOGITS) or stage.at < 1024:
            return Check(name, False, f"n = {stage.n} at {stage.at}: outside what was asked for")
        ids = backend.scratch.view(stage.at, stage.n, np.int32)
        if len(set(ids.tolist())) != stage.n or not ((ids >= 0) & (ids < len(LOGITS))).all():
            return Check(name, False, f"ids {ids.tolist()} are not distinct ids of the vocabulary")
    return Check(name, True)


def _answers(name: str, backend: BackendProcess, request: p.RunRequest) -> Check:
    try:
        reply = backend.ask(request, p.RunReply)
    except BackendFailure as failure:
        return Check(name, False, f"{failure.verdict}: {failure}")
    return Check(name, len(reply.tokens) == len(request.steps))


def _refuses_unknown_sampler(backend: BackendProcess) -> Check:
    name = "an unknown sampler is answered with kind unsupported or rejected"
    request = _request(backend, "greedy", chain=[{"no_such_sampler": {}}])
    try:
        backend.ask(request, p.RunReply)
    except BackendFailure as failure:
        return Check(name, failure.verdict in ("unsupported", "rejected"), failure.verdict)
    return Check(name, False, "it answered as if it had it")


def _draws(backend: BackendProcess, hello: p.HelloReply) -> Check:
    if "draws" not in hello.capabilities or "dist" not in hello.samplers:
        return Check("draws", None)
    rows = _put(backend)
    chain = complete([{"dist": {"seed": 1}}], rows.n)
    request = p.DrawsRequest(chain=chain, n_vocab=rows.n, rows=rows, n=20, out=1024)
    try:
        backend.ask(request, p.DrawsReply)
    except BackendFailure as failure:
        return Check("draws", False, f"{failure.verdict}: {failure}")
    tokens = backend.scratch.view(1024, 20, np.int32)
    inside = bool(((tokens >= 0) & (tokens < rows.n)).all())
    return Check("draws", inside and len(set(tokens.tolist())) > 1, f"tokens {tokens.tolist()}")


def _time(backend: BackendProcess, hello: p.HelloReply) -> Check:
    if "time" not in hello.capabilities:
        return Check("time", None)
    rows = _put(backend)
    sampler = next((s for s in hello.samplers if s in _smallest_chains() and s != "infill"), "temp")
    chain = complete([{sampler: dict(_smallest_chains()[sampler])}], rows.n)
    request = p.TimeRequest(chain=chain, n_vocab=rows.n, rows=rows, repetitions=5)
    try:
        reply = backend.ask(request, p.TimeReply)
    except BackendFailure as failure:
        return Check("time", False, f"{failure.verdict}: {failure}")
    return Check("time", len(reply.ns) == 5 and min(reply.ns) >= 0, f"{reply.ns} ns")
