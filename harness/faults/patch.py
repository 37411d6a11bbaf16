"""Faults as text: what is replaced in a module of the reference.

The patched source runs as a module of its own, and the sampler is built from it. The module that
it was made of stays as it is; what Numba compiled for it is used again.
"""

import functools
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sampler_parity import reference
from sampler_parity.harness.errors import InputError
from sampler_parity.reference import ALL_SAMPLERS
from sampler_parity.reference.compiled import Compiled

ROOT = Path(reference.__file__).parent.parent
_NAMESPACE = "sampler_parity"


@dataclass(frozen=True)
class Patch:
    """place: where it is written, for messages. name: the fault's. file: what is patched, from the
    folder above `reference`; "": the sampler's own module. edits: texts and what replaces them."""

    place: str
    name: str
    edits: tuple[tuple[str, str], ...]
    file: str = ""

    def faulty(self) -> Callable[..., Any]:
        """The sampler's class, made anew. Raises InputError for an edit that does not fit."""
        return _faulty(self)

    @property
    def module(self) -> ModuleType:
        """The module that it patches."""
        if not self.file:
            return _module_of(self.name)
        dotted = ".".join((_NAMESPACE, *Path(self.file).with_suffix("").parts))
        if dotted not in sys.modules:
            raise InputError(self.place, f"the reference has no {self.file}", "correct `file`")
        return sys.modules[dotted]

    def text(self) -> str:
        """The patched source. Raises InputError unless each text that is replaced is there once."""
        text = _source(self.module)
        path = Path(str(self.module.__file__)).relative_to(ROOT)
        for number, (old, new) in enumerate(self.edits, start=1):
            count = text.count(old)
            place = f"{self.place}: edit {number}"
            if count != 1:
                mend = "copy more lines around it" if count else "copy the lines as they are now"
                problem = f"stands {count} times in {path}, and must once: {old!r}"
                raise InputError(place, problem, mend)
            if old == new:
                raise InputError(place, f"replaces nothing: {old!r}", "correct `with`")
            text = text.replace(old, new)
        return text


@functools.cache
def _faulty(patch: Patch) -> Callable[..., Any]:
    right = _module_of(patch.name)
    patched = _executed(patch.module, patch.name, patch.text())
    module = patched
    if patch.module is not right:
        module = _executed(right, patch.name, _source(right))
        for name, value in vars(patch.module).items():
            if vars(module).get(name) is value:
                vars(module)[name] = vars(patched)[name]
    return _of_its_kind(ALL_SAMPLERS[patch.name.split("/")[0]], module)


def _of_its_kind(right: Any, module: ModuleType) -> Callable[..., Any]:
    """The module's class as one of the right sampler's, for those that ask what a sampler is."""
    skipped = {"__dict__", "__weakref__"}
    members = {k: v for k, v in vars(vars(module)[right.__name__]).items() if k not in skipped}
    faulty: Callable[..., Any] = type(right)(right.__name__, (right,), members)
    vars(module)[right.__name__] = faulty
    return faulty


def _module_of(name: str) -> ModuleType:
    return sys.modules[ALL_SAMPLERS[name.split("/")[0]].__module__]


@functools.cache
def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _executed(module: ModuleType, name: str, text: str) -> ModuleType:
    """A module of this source; tracebacks show its lines. Raises InputError for a changed function
    that Numba compiles: that takes a second each time."""
    file = f"<{name}: {Path(str(module.__file__)).relative_to(ROOT)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    fresh = ModuleType(f"{module.__name__} ({name})")
    exec(compile(text, file, "exec"), vars(fresh))
    for key, function in vars(module).items():
        if isinstance(function, Compiled):
            if _code(vars(fresh)[key]) != _code(function):
                raise InputError(file, f"{key} is compiled by Numba", "write the fault as a class")
            vars(fresh)[key] = function
    return fresh


def _code(function: Any) -> tuple[bytes, tuple[Any, ...]]:
    code: CodeType = function.__wrapped__.__code__
    return code.co_code, code.co_consts
