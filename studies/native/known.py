"""The native result of every quick case without a mutant, and the switches that it evaluates.

The library with the switches is the one whose coverage was counted, compiled otherwise. There the
reference judged every case, to the bit, and reported how many of its steps it takes. So here a case
is known by a digest of its results, and a mutant is caught by another digest.
"""

import ctypes
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.draws import DrawsCase
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.generation.run import request_of
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.llama_cpp import graph
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.suite.file import expand, find_suites
from studies.native import interface

# The coverage's bundles, and the backend that ran their suites.
SUITES = {"parity": "llama.cpp", "grammar": "llama.cpp", "generate": "llama.cpp",
          "graph": "llama.cpp/graph"}  # fmt: skip


class Switches:
    """The two variables of a library in this process: the mutant that is on, what was evaluated."""

    def __init__(self, library: ctypes.CDLL, n: int) -> None:
        self._on = ctypes.c_int.in_dll(library, "native_mutant")
        self._reached = (ctypes.c_ubyte * (n + 2)).in_dll(library, "native_reached")

    def turn_on(self, number: int) -> None:
        self._on.value = number

    def forget(self) -> None:
        ctypes.memset(self._reached, 0, len(self._reached))

    def reached(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(np.ctypeslib.as_array(self._reached)).tolist())


class Native(InProcess):
    """A worker in this process, which the processes of the mutants inherit."""

    def __init__(self, name: str, worker: Any) -> None:
        self.name, self.timeout_s, self.scratch, self.worker = name, 600.0, Scratch(), worker
        self._hello = worker.hello()

    def hello(self) -> p.HelloReply:
        reply: p.HelloReply = self._hello
        return reply


KINDS = (StagesCase, DrawsCase, GenerationCase)


@dataclass
class Known:
    """look: a digest of the case's results. seconds: of the processor, without a mutant."""

    id: str
    look: Callable[[], str]
    expected: str = ""
    seconds: float = 0.0
    reached: frozenset[int] = frozenset()

    def passes(self) -> bool:
        return self.look() == self.expected


def known(build: Path, n: int, bundles: Path) -> tuple[Switches, list[Known]]:
    """Return every quick case, and every check of interface.py. bundles: those of the coverage.

    Left out: cases that end the process, as they must, that draw without a seed, or are a batch.
    Raises InputError.
    """
    native = interface.Native(build)
    in_graph = graph.Worker.__new__(graph.Worker)
    in_graph.native = native  # one library, so that a switch is turned on for both
    workers = {"llama.cpp": native, "llama.cpp/graph": in_graph}
    backends = {name: Native(name, worker) for name, worker in workers.items()}
    switches = Switches(native.library._library, n)
    every = [Known(f"interface/{c.__name__}", _check(c, native)) for c in interface.CHECKS]
    for suite, name in SUITES.items():
        steps = {case.id: case.steps for case in read_finished(bundles / suite).cases}
        cases = [case for file in find_suites([suite]) for case in expand(file, "quick")]
        every += [
            Known(case.id, look_of(case, backends[name], steps[case.id]))
            for case in cases
            if type(case) in KINDS and steps.get(case.id) and "crashed" not in case.required(name)
        ]
    for one in every:
        switches.forget()
        start = time.process_time()
        one.expected = one.look()
        one.seconds = time.process_time() - start
        one.reached = switches.reached()
    return switches, every


def _check(check: interface.Check, native: interface.Native) -> Callable[[], str]:
    return lambda: "\n".join(check(native))


def look_of(case: Case, backend: Native, steps: int) -> Callable[[], str]:
    """Return a function that digests a case's steps: those that the reference takes.

    Behind them anything could happen.
    """
    ready = prepare(case) if isinstance(case, StagesCase) else None

    def look() -> str:
        try:
            return _digest(_outcome(case, ready, backend, steps))
        except BackendFailure as failure:
            return f"{failure.verdict}: {failure}"

    return look


def _outcome(case: Case, ready: Prepared | None, backend: Native, steps: int) -> Iterable[bytes]:
    if isinstance(case, GenerationCase):
        generated = client.generate(backend, request_of(case))
        yield repr((generated.reply.tokens, generated.reply.in_graph)).encode()
        yield generated.rows.tobytes()
        yield from (part for got in generated.handed_back or [] for part in _parts(got))
        return
    assert ready is not None
    if isinstance(case, DrawsCase):
        yield client.draws(backend, ready.setting, ready.rows[0], case.draws).tokens.tobytes()
    else:
        ran = client.run(
            backend, ready.setting, ready.rows, ready.steps[:steps],
            instances=ready.instances, detail=case.detail,
        )  # fmt: skip
        yield repr(ran.tokens).encode()
        yield from (part for stages in ran.stages for got in stages for part in _parts(got))


def _parts(got: Got) -> Iterable[bytes]:
    """Yield bytes in which all NaN are equal: sign and payload depend on the compiler."""
    yield got.ids.tobytes()
    for values in (got.logits, got.p):
        yield np.where(np.isnan(values), np.float32(np.nan), values).tobytes()
    yield repr((got.sorted, got.selected)).encode()


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
