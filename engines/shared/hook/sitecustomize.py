"""Python loads this file at its start (PYTHONPATH): the recorder of an engine waits for its import.

The program's Python may have none of our packages, so this file and the engine's recorder.py need
the standard library alone until the engine is imported. A sitecustomize of the user's is run next.
"""

import importlib.util
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NAME = "SAMPLER_PARITY_RECORD"


class EngineFinder:
    """Calls a function after one of some modules was imported."""

    def __init__(self, names: list[str], imported: Callable[[ModuleType], None]) -> None:
        self.names, self.imported = names, imported

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the module's spec, as the other finders have it, with a loader that calls us."""
        if name not in self.names:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            loader, load = spec.loader, spec.loader.exec_module

            def load_and_call(module: ModuleType) -> None:
                vars(loader).pop("exec_module")
                load(module)
                self.imported(module)

            loader.exec_module = load_and_call  # type: ignore[method-assign]
        return spec


def wait_for(engine: str) -> None:
    """Patch the modules of an engine when the program imports them."""
    recorder = _loaded("_sampler_parity_recorder", ROOT / "engines" / engine / "recorder.py")
    names, hooks = list(recorder.MODULES), list[Any]()  # one, once the engine is imported

    def imported(module: ModuleType) -> None:
        try:
            if not hooks:
                with _our_packages():
                    from sampler_parity.engines.shared.hooks import Hooks
                hooks.append(Hooks(os.environ, NAME, engine))
            hooks[0].safely(recorder.MODULES[module.__name__], module, hooks[0])
        except Exception as error:  # the program goes on
            names.clear()
            _stopped(f"{type(error).__name__}: {error}")

    finder: Any = EngineFinder(names, imported)
    sys.meta_path.insert(0, finder)


@contextmanager
def _our_packages() -> Iterator[None]:
    """Let our modules be imported, and forget their names: the program may have its own."""

    def taken() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == "sampler_parity"]
        return {name: sys.modules.pop(name) for name in names}

    theirs = taken()
    ours = ModuleType("sampler_parity")
    ours.__path__ = [str(ROOT)]
    sys.modules["sampler_parity"] = ours
    try:
        yield
    finally:
        taken()
        sys.modules.update(theirs)


def _stopped(why: str) -> None:
    """Write a recording that holds only the reason why it stopped."""
    pid, chain = os.getpid(), 0
    about = {"pid": pid, "program": sys.executable, "detail": "tokens", "text": False}
    events = [{"e": "start", **about, "time": time.time()}, {"e": "stopped", "why": why}]
    path, lines = Path(os.environ[NAME]) / f"{pid}.events", ""
    for event in events:
        text = json.dumps(event, separators=(",", ":"))[:-1]
        chain = zlib.crc32(text.encode(), chain)
        lines += f'{text},"#":"{chain:08x}"}}\n'
    with suppress(OSError):
        if not path.exists() or path.stat().st_size == 0:
            path.write_text(lines, encoding="utf-8")


def _loaded(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_next() -> None:
    """Run the sitecustomize that Python would have loaded."""
    sys.path[:] = [entry for entry in sys.path if entry != str(HERE)]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    if os.environ.get(NAME) and os.environ.get(f"{NAME}_ENGINE"):
        try:
            wait_for(os.environ[f"{NAME}_ENGINE"])
        except Exception as problem:
            _stopped(f"{type(problem).__name__}: {problem}")
    run_next()
