"""Faults planted in the workers and programs of engines: engines/NAME/worker_faults.py of each.

They run in the environment of their engine. The case that a fault names must catch it.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sampler_parity.harness.engines.engine_file import NAMESPACE, engine_names, engines_folder
from sampler_parity.harness.verdicts import Verdict


@dataclass(frozen=True)
class Fault:
    """name: ENGINE/FAULT. case: the beginning of the id of the case that must catch it.

    make: a replacement of the engine's `Worker`; its docstring describes the fault. For an adapter
        in another language, the description: worker_faults.mjs runs in place of the adapter, with
        the last word of the fault's name behind its arguments.
    stage, verdict: where it must show, and how. A fault that ends the engine has the verdict alone.
    """

    name: str
    make: Callable[[], Any] | str
    case: str
    stage: str
    verdict: Verdict = "diverged"
    source: str = "ours"

    @property
    def engine(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def fault(self) -> str:
        return self.make if isinstance(self.make, str) else inspect.getdoc(self.make) or ""


@functools.cache
def faults() -> dict[str, Fault]:
    """Return all faults, by name."""
    modules = [module for name in engine_names() if (module := _module(name))]
    return {fault.name: fault for module in modules for fault in module.FAULTS}


def file_of(engine: str, suffix: str) -> Path:
    """Return the path of the faults of an engine."""
    return engines_folder() / engine.partition("/")[0] / f"worker_faults{suffix}"


def faults_of(engine: str) -> dict[str, Fault]:
    """Return the faults of one engine alone: its environment lacks what others import."""
    module = _module(engine.partition("/")[0])
    found = module.FAULTS if module else []
    return {fault.name: fault for fault in found if fault.engine == engine}


def _module(folder: str) -> ModuleType | None:
    if not file_of(folder, ".py").is_file():
        return None
    return import_module(f"{NAMESPACE}.{folder}.worker_faults")
