"""`sampler-parity adapter check`: check that a command speaks the protocol. One line per check.

The input is small and the expected values are in this file, so that an author sees what is asked.
The results of the samplers are not checked here; `run` does that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from sampler_parity.harness.checks.batch.relations import changed, first_broken
from sampler_parity.harness.checks.stages.own_random import RANDOM
from sampler_parity.harness.checks.stages.reference_cache import digest_of
from sampler_parity.harness.engines.samplers import ALL_ROWS, ALL_SAMPLERS, separates_prompt
from sampler_parity.harness.failures.format_difference import row_of
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client_serving import Batch, batch
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.process import START_TIMEOUT_S, BackendProcess

LOGITS = [0.5, 3.0, -1.0, 2.0]
ROWS = [np.array(LOGITS, np.float32)] * 2
STEPS = [p.Step(row=0), p.Step(row=1)]
_FIRST, _ALL = [{"at": 1, "row": 0}, {"at": 0, "row": 1}], [{"at": i, "row": 0} for i in range(3)]
BATCH = [
    p.BatchStep.model_validate(step)
    for step in (
        {"before": [("join", 0), ("join", 1)], "sample": _FIRST},
        {"before": [("clone", 0), ("swap", 0, 1)], "sample": _ALL},
        {"before": [("leave", 0), ("reset", 1)], "sample": [{"at": 1, "row": 1, "accept": 2}]},
        {"before": [("join", 1)], "sample": _ALL},
    )
]
TIMEOUT_S = 10.0
AT_MOST_SILENT = 2


@dataclass(frozen=True)
class ProtocolCheck:
    """passed is None if the adapter does not claim the capability."""

    name: str
    passed: bool | None
    detail: str = ""


def check_adapter(command: list[str], timeout_s: float | None = None) -> Iterator[ProtocolCheck]:
    """Start the command and try each part of the protocol, up to two parts in a row without a
    reply. timeout_s: of a request; by default TIMEOUT_S, and START_TIMEOUT_S to start."""
    limits = timeout_s or TIMEOUT_S, timeout_s or START_TIMEOUT_S
    backend = BackendProcess("adapter", command, *limits)
    silent: list[str] = []
    try:
        for result in check(backend):
            yield result
            silent = [*silent, result.name] if result.detail.startswith("timeout") else []
            if len(silent) == AT_MOST_SILENT:
                detail = f"not run: no reply to {' and '.join(silent)}; `--timeout` gives more time"
                yield ProtocolCheck("other parts", False, detail)
                return
    finally:
        backend.close()


def check(backend: Backend) -> Iterator[ProtocolCheck]:
    """Try each part of the protocol."""
    try:
        hello = backend.hello()
    except BackendFailure as failure:
        yield ProtocolCheck("hello", False, str(failure))
        return
    greeting = f"{hello.name} {hello.version}, samplers: {len(hello.samplers)}"
    yield ProtocolCheck("hello", True, greeting)
    yield _known_samplers(hello)
    yield from _run(backend, hello)
    yield from _prompt(backend, hello)
    yield _tried("batch", lambda: _batch(backend, hello))
    yield from _dtypes(backend, hello)
    yield _refuses_unknown_sampler(backend)
    yield _tried("draws", lambda: _draws(backend, hello))
    yield _tried("time", lambda: _time(backend, hello))


def _tried(name: str, part: Callable[[], object]) -> ProtocolCheck:
    """Return the check that a part returns, one that passed if it returns none, or its failure."""
    try:
        result = part()
    except BackendFailure as failure:
        return ProtocolCheck(name, False, f"{failure.verdict}: {failure}")
    return result if isinstance(result, ProtocolCheck) else ProtocolCheck(name, True)


def _known_samplers(hello: p.HelloReply) -> ProtocolCheck:
    unknown = sorted(set(hello.samplers) - set(ALL_SAMPLERS))
    return ProtocolCheck("sampler names are llama.cpp's", not unknown, ", ".join(unknown))


def _setting(sampler: str) -> client.Setting:
    """Return the sampler in its smallest setting, with a vocabulary if it needs one."""
    row = ALL_ROWS[sampler]
    vocab = str(vocab_path("bpe")) if row.vocab else None
    return client.Setting(
        complete([{sampler: dict(row.smallest)}], len(LOGITS)), len(LOGITS), vocab
    )


def _usable(hello: p.HelloReply) -> list[str]:
    return [name for name in hello.samplers if name in ALL_ROWS]


def _repeating(hello: p.HelloReply) -> list[str]:
    """Return those that give the same again: own random numbers may give another token."""
    return [name for name in _usable(hello) if hello.random != "own" or name not in RANDOM]


def _run(backend: Backend, hello: p.HelloReply) -> Iterator[ProtocolCheck]:
    if "run" not in hello.capabilities:
        yield ProtocolCheck("run", False, "the capability `run` is required")
        return
    usable = _usable(hello)
    if not usable:
        yield ProtocolCheck("run", False, "nothing could be tried: hello names no known sampler")
        return
    for sampler in usable:
        yield _tried(f"run {sampler}", partial(_run_one, backend, sampler))
    reset = p.Step(row=1, before=[("reset", 0)])
    clone = p.Step(row=1, instance=1, before=[("clone", 0)])
    yield _answers("run with reset", backend, usable[0], [p.Step(row=0), reset])
    yield _answers("run with clone", backend, usable[0], [p.Step(row=0), clone])
    yield _answers("run, tokens only", backend, usable[0], STEPS, detail="token")
    if "many" in hello.capabilities and _repeating(hello):
        yield _tried("many", lambda: _many(backend, _repeating(hello)))


def _run_one(backend: Backend, sampler: str) -> ProtocolCheck:
    name = f"run {sampler}"
    ran = client.run(backend, _setting(sampler), ROWS, STEPS, whole_chain=False)
    for (stage,) in ran.stages:
        ids = stage.ids.tolist()
        if len(set(ids)) != len(ids) or not all(0 <= token < len(LOGITS) for token in ids):
            return ProtocolCheck(name, False, f"ids {ids} are not distinct ids of the vocabulary")
    return ProtocolCheck(name, True)


def _answers(
    name: str,
    backend: Backend,
    sampler: str,
    steps: list[p.Step],
    detail: Literal["stages", "token"] = "stages",
) -> ProtocolCheck:
    run = partial(client.run, backend, _setting(sampler), ROWS, steps)
    return _tried(name, lambda: run(detail=detail, whole_chain=False))


def _many(backend: Backend, usable: list[str]) -> ProtocolCheck:
    """Check that runs in one request give what each gives alone: the first two select from
    different rows, and the last shows tokens only."""
    select = next((name for name in ("greedy", "dist") if name in usable), usable[0])
    names = [select, select, *usable, select]
    runs = [client.RunCall(_setting(name), ROWS, STEPS, whole_chain=False) for name in names]
    runs[1] = replace(runs[1], rows=[row[::-1].copy() for row in ROWS])
    runs[-1] = replace(runs[-1], detail="token")
    alone = [_plain(client.one(backend, run)) for run in runs]
    got = client.many(backend, runs)
    together = [_plain(ran) if isinstance(ran, client.Ran) else None for ran in got]
    places = [i for i, ran in enumerate(together) if ran != alone[i]]
    detail = f"run {places[0] + 1} of {len(runs)} differs from the same run alone" if places else ""
    return ProtocolCheck("many", not places, detail)


def _plain(ran: client.Ran) -> list[object]:
    """Return what a run has written, without its time."""
    return [ran.tokens, digest_of([got for stages in ran.stages for got in stages])]


def _prompt(backend: Backend, hello: p.HelloReply) -> Iterator[ProtocolCheck]:
    """Check a history with one token of a prompt, for the first sampler that uses prompts."""
    name = "run with a prompt"
    using = [sampler for sampler in _usable(hello) if separates_prompt([[sampler]])]
    if not using:
        return
    if "origin" not in hello.capabilities:
        skipped = f"{using[0]} without `origin`: cases with a prompt are skipped"
        yield ProtocolCheck(name, None, skipped)
        return
    setting = replace(_setting(using[0]), history=[1, 2], n_prompt=1)
    run = partial(client.run, backend, setting, ROWS, STEPS, whole_chain=False)
    yield _tried(name, lambda: run() and ProtocolCheck(name, True, using[0]))


def _batch(backend: Backend, hello: p.HelloReply) -> ProtocolCheck:
    """Check two sequences through every operation, and the rules of every batch: a row alone, all
    rows again, and all in the opposite order give the same tokens."""
    if "batch" not in hello.capabilities:
        return ProtocolCheck("batch", None)
    selects = [name for name in ("dist", "greedy") if name in hello.samplers]
    sampler = next(iter([*selects, *_usable(hello)]), "greedy")
    setting = _setting(sampler)
    sequences = [p.BatchSequence(chain=setting.chain, prompt=[i], output=[3]) for i in (1, 2)]
    request = Batch(sequences, BATCH, len(LOGITS), setting.vocab)
    ran = batch(backend, request, ROWS)
    broken = changed(ran) or first_broken(request, ROWS, ran, backend, alone=None)
    if broken is None:
        return ProtocolCheck("batch", True, f"tokens {ran.tokens}")
    where = f"step {(broken.step or 0) + 1}, {row_of(broken.row)}: " if broken.row else ""
    return ProtocolCheck("batch", False, where + broken.detail)


def _dtypes(backend: Backend, hello: p.HelloReply) -> Iterator[ProtocolCheck]:
    """Check that rows of 16 bits are sampled as the same values in float32. LOGITS are values of
    each format; three of them, so that a second row begins at an odd multiple of 2 bytes."""
    rows = [row[:3] for row in (ROWS[0], ROWS[0][::-1].copy())]
    for dtype in (dtype for dtype in hello.dtypes if dtype != "float32"):
        name = f"rows of {dtype}"
        usable = [sampler for sampler in _repeating(hello) if not ALL_ROWS[sampler].vocab]
        if not usable:
            yield ProtocolCheck(name, None)
            continue
        setting = replace(_setting(usable[0]), n_vocab=3)
        try:
            full = _shown(backend, setting, rows)
            narrow = _shown(backend, replace(setting, dtype=dtype), rows)
        except BackendFailure as failure:
            yield ProtocolCheck(name, False, f"{failure.verdict}: {failure}")
            continue
        detail = "" if full == narrow else f"{usable[0]} leaves {narrow}, of the same values {full}"
        yield ProtocolCheck(name, full == narrow, detail)


def _shown(backend: Backend, setting: client.Setting, rows: list[client.Row]) -> list[list[float]]:
    ran = client.run(backend, setting, rows, STEPS, whole_chain=False)
    return [stages[-1].logits.tolist() for stages in ran.stages]


def _refuses_unknown_sampler(backend: Backend) -> ProtocolCheck:
    """Check the refusal without the client, which would not send the request."""
    name = "an unknown sampler is answered with kind unsupported or rejected"
    n = len(LOGITS)
    request = p.RunRequest(
        chain=[{"no_such_sampler": {}}],
        n_vocab=n,
        rows=p.Rows(at=0, count=2, n=n),
        steps=STEPS,
        out=8 * n,
    )
    try:
        backend.ask(request, p.RunReply)
    except BackendFailure as failure:
        return ProtocolCheck(name, failure.verdict in ("unsupported", "rejected"), failure.verdict)
    return ProtocolCheck(name, False, "it answered as if it had it")


def _draws(backend: Backend, hello: p.HelloReply) -> ProtocolCheck:
    if "draws" not in hello.capabilities or "dist" not in hello.samplers:
        return ProtocolCheck("draws", None)
    tokens = client.draws(backend, _setting("dist"), ROWS[0], 20).tokens.tolist()
    inside = all(0 <= token < len(LOGITS) for token in tokens)
    return ProtocolCheck("draws", inside and len(set(tokens)) > 1, f"tokens {tokens}")


def _time(backend: Backend, hello: p.HelloReply) -> ProtocolCheck:
    if "time" not in hello.capabilities:
        return ProtocolCheck("time", None)
    sampler = next(iter(_usable(hello)), "temp")
    reply = client.time(backend, _setting(sampler), ROWS[0], 5)
    return ProtocolCheck("time", True, f"{reply.ns} ns")
