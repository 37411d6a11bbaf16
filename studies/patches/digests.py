"""Digests of the results of libraries, case by case, without the reference.

The cases are read and prepared once. Each library runs them in processes of its own, which are
forked from this one: a case may end its process.
"""

import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.checks.draws import DrawsCase
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.llama_cpp import graph
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.suite.file import expand, find_suites
from studies.native.known import Native, look_of

RELEASE = "v0.5.0"
WORKERS = {"llama.cpp": Worker, "llama.cpp/graph": graph.Worker}
# Left out: batches, which native.known cannot run, and chains without a seed, which draw anew.
KINDS = (StagesCase, DrawsCase, GenerationCase)
DIES = "ends the process"


@dataclass(frozen=True)
class Look:
    """digest: runs the case on the library of this process."""

    id: str
    digest: Callable[[], str]


def looks(suites: Sequence[str], steps: Mapping[str, int], backend: Native) -> list[Look]:
    """Prepare the quick cases of the suites. steps: those that the reference takes, by case."""
    return [
        Look(case.id, look_of(case, backend, steps[case.id]))
        for file in find_suites(list(suites))
        for case in expand(file, "quick")
        if steps.get(case.id) and type(case) in KINDS
    ]


def all_digests(
    on: str, suites: Sequence[str], steps: Mapping[str, int], libraries: Mapping[str, Path]
) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield each library with its digests, by the case's id."""
    backend = Native.__new__(Native)
    prepared = looks(suites, steps, backend)
    for name, library in libraries.items():

        def load(library: Path = library) -> None:
            backend.__init__(on, WORKERS[on](str(library), RELEASE))  # type: ignore[misc]

        yield name, of_library(prepared, load)


def of_library(prepared: Sequence[Look], load: Callable[[], None]) -> dict[str, str]:
    """Return the digest of each case; a new process continues behind one that ends its process.
    load: loads the library. Raises ChildProcessError if that fails."""
    found: dict[str, str] = {}
    while len(found) < len(prepared):
        left = prepared[len(found) :]
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            os.close(reading)
            _child(left, load, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as lines:
            got = lines.read().splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not got:
            raise ChildProcessError(f"a library cannot be loaded, status {status}")
        found |= dict(zip((look.id for look in left), got[1:], strict=False))
        if status:
            found[prepared[len(found)].id] = DIES
    return found


def _child(left: Sequence[Look], load: Callable[[], None], writing: int) -> None:
    try:
        load()
        os.write(writing, b"loaded\n")
        for look in left:
            digest = look.digest()
            os.write(writing, digest.replace("\n", " ").encode() + b"\n")
    except BaseException:  # or the fork would go on as its parent
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
