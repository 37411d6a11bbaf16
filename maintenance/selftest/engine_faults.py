"""Faults planted in the workers and programs of engines.

Those of a worker are edits of its text, engines/NAME/worker_faults.toml. Those of a program in
another language are listed there, and worker_faults.mjs plants them. Edits of the engine's own
text are made by engines/NAME/worker_faults.py, from the rows of other files.

They run in the environment of their engine. The case that a fault names must catch it.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sampler_parity.harness.engines.engine_file import NAMESPACE, engine_names, engines_folder
from sampler_parity.harness.faults.catalogue import ProgramRow, patches, rows_of
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.harness.verdicts import Verdict


@dataclass(frozen=True)
class Fault:
    """name: ENGINE/FAULT. fault: its description. case: the beginning of the id of the case that
    must catch it.

    of: an edit of the worker's text, or a replacement of its `Worker`. None for an adapter in
        another language: worker_faults.mjs runs in its place, with the last word of the fault's
        name behind its arguments.
    stage, verdict: where it must show, and how. A fault that ends the engine has the verdict alone.
    """

    name: str
    fault: str
    of: Patch | Callable[[], Any] | None
    case: str
    stage: str
    verdict: Verdict = "diverged"
    source: str = "ours"

    @property
    def engine(self) -> str:
        return self.name.rpartition("/")[0]

    def worker(self) -> Any:
        """Start the faulty worker. Raises InputError for a patch that does not fit."""
        assert self.of is not None
        return (self.of.faulty() if isinstance(self.of, Patch) else self.of)()


@functools.cache
def faults() -> dict[str, Fault]:
    """Return all faults, by name."""
    return {fault.name: fault for name in engine_names() for fault in _faults_in(name)}


def file_of(engine: str, suffix: str) -> Path:
    """Return the path of the faults of an engine."""
    return engines_folder() / engine.partition("/")[0] / f"worker_faults{suffix}"


def faults_of(engine: str) -> dict[str, Fault]:
    """Return the faults of one engine alone: its environment lacks what others import."""
    all_faults = _faults_in(engine.partition("/")[0])
    return {fault.name: fault for fault in all_faults if fault.engine == engine}


def _faults_in(folder: str) -> Iterator[Fault]:
    path = file_of(folder, ".toml")
    if file_of(folder, ".mjs").is_file():
        yield from (_fault(row, None) for _, row in rows_of(path, ProgramRow))
    elif path.is_file():
        worker = f"engines/{folder}/worker.py:Worker"
        yield from (_fault(row, patch) for row, patch in patches(path, worker))
    if file_of(folder, ".py").is_file():
        yield from import_module(f"{NAMESPACE}.{folder}.worker_faults").FAULTS


def _fault(row: ProgramRow, of: Patch | None) -> Fault:
    stage = row.at or row.name.partition("/")[0]
    if stage == "crashed":
        return Fault(row.name, row.fault, of, row.case, "", "crashed", row.source)
    return Fault(row.name, row.fault, of, row.case, stage, source=row.source)
