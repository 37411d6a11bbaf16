"""Faults planted in the workers and programs of engines: a file for each engine, NAME.py.

They run where the engine runs, in its environment, and each is caught by the case that it names.
"""

import functools
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sampler_parity.harness.verdicts import Verdict

_OURS = ("trial", "worker")  # no engines
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """name: ENGINE/FAULT. case: the beginning of the id of the case that must catch it.

    make: what stands in place of the engine's `Worker`; its docstring is the fault. Of a program
    text that is the fault: ENGINE.mjs runs in place of the adapter, with the fault's last word
    behind its arguments. stage, verdict: where it must show, and how; a fault that ends the engine
    has no stage, and says so by its verdict.
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
    """All, by name."""
    names = [module.name for module in pkgutil.iter_modules([str(_FOLDER)])]
    modules = [import_module(f"{__name__}.{name}") for name in names if name not in _OURS]
    return {fault.name: fault for module in modules for fault in module.FAULTS}


def file_of(engine: str, suffix: str) -> Path:
    """Where its faults are."""
    return _FOLDER / f"{_identifier(engine)}{suffix}"


def faults_of(engine: str) -> dict[str, Fault]:
    """Those of one engine alone: what others import is not in its environment."""
    if not file_of(engine, ".py").is_file():
        return {}
    module = import_module(f"{__name__}.{_identifier(engine)}")
    return {fault.name: fault for fault in module.FAULTS if fault.engine == engine}


def _identifier(engine: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in engine)
