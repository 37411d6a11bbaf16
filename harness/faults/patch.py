"""Faults as text: edits of a module of the reference, of an engine, or of the protocol.

The patched source runs as a module of its own, and the sampler is built from it. The original
module stays as it is; functions that Numba compiled for it are used again.
"""

import functools
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.reference.compiled import Compiled

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "sampler_parity"


@dataclass(frozen=True)
class Patch:
    """where: file and fault, for messages. name: the fault's. file: what is patched, from the
    folder above `reference`; "": the module of what is replaced. edits: texts and what replaces
    them. of: FILE:NAME of the class or function that is replaced; "": the sampler's class."""

    where: str
    name: str
    edits: tuple[tuple[str, str], ...]
    file: str = ""
    of: str = ""

    def faulty(self) -> Callable[..., Any]:
        """Make the faulty class or function. Raises InputError for an edit that does not fit."""
        return _faulty(self)

    def right(self) -> Any:
        """Return the class or function that is replaced. Raises InputError if there is none."""
        from sampler_parity.harness.engines.samplers import ALL_SAMPLERS  # loads the reference

        if self.of:
            file, _, member = self.of.partition(":")
            right = getattr(self._imported(file), member, None)
            if right is None:
                raise InputError(self.where, f"{file} has no {member!r}", "correct `of`")
            return right
        name = self.name.split("/")[0]
        if name not in ALL_SAMPLERS:
            raise InputError(self.where, f"there is no sampler {name!r}", "correct `name`")
        return ALL_SAMPLERS[name]

    def module(self) -> ModuleType:
        """Return the module that it patches. Raises InputError if there is no such module."""
        if not self.file:
            return sys.modules[self.right().__module__]
        return self._imported(self.file)

    def _imported(self, file: str) -> ModuleType:
        dotted = ".".join((NAMESPACE, *Path(file).with_suffix("").parts))
        try:
            return import_module(dotted)
        except ModuleNotFoundError:
            raise InputError(self.where, f"there is no {file}", "correct `file`") from None

    def text(self) -> str:
        """Return the patched source. Raises InputError unless each replaced text is there once."""
        module = self.module()
        text, path = _source(module), _path(module)
        for number, (old, new) in enumerate(self.edits, start=1):
            count = text.count(old)
            where = f"{self.where}: edit {number}"
            if count != 1:
                fix = "copy more lines around it" if count else "copy the lines as they are now"
                problem = f"occurs {count} times in {path}, must occur once: {old!r}"
                raise InputError(where, problem, fix)
            if old == new:
                raise InputError(where, f"replaces nothing: {old!r}", "correct `with`")
            text = text.replace(old, new)
        return text


@functools.lru_cache(1024)  # those by construction are thousands
def _faulty(patch: Patch) -> Callable[..., Any]:
    right, patched = patch.right(), patch.module()
    module = sys.modules[right.__module__]
    faulty = built = _executed(patched, patch.name, patch.text())
    if patched is not module:  # its imports from there come from the patched module
        with _found_in_place_of(patched, faulty):
            built = _executed(module, patch.name, _source(module))
        for name, value in vars(patched).items():  # those by way of another module
            if vars(built).get(name) is value:
                vars(built)[name] = vars(faulty)[name]
    if not isinstance(right, type):
        return vars(built)[right.__name__]  # type: ignore[no-any-return]
    return _of_its_kind(right, built)


@contextmanager
def _found_in_place_of(patched: ModuleType, faulty: ModuleType) -> Iterator[None]:
    """Let an import find the faulty module: by its name, and as a member of its package."""
    package, _, member = patched.__name__.rpartition(".")
    holders = [(sys.modules, patched.__name__), (vars(sys.modules[package]), member)]
    patched_holders = [(holder, name) for holder, name in holders if holder.get(name) is patched]
    for holder, name in patched_holders:
        holder[name] = faulty
    try:
        yield
    finally:
        for holder, name in patched_holders:
            holder[name] = patched


def _of_its_kind(right: Any, module: ModuleType) -> Callable[..., Any]:
    """Return the module's class as a subclass of the right sampler, for code that asks for its
    type. One with a base stays as it is: its `super()` must find that base."""
    built: Callable[..., Any] = vars(module)[right.__name__]
    if right.__bases__ != (object,):
        return built
    members = dict(vars(built))
    for name in ("__dict__", "__weakref__"):  # the subclass gets its own descriptors
        members.pop(name)
    faulty: Callable[..., Any] = type(right)(right.__name__, (right,), members)
    vars(module)[right.__name__] = faulty
    return faulty


def _path(module: ModuleType) -> Path:
    return Path(str(module.__file__)).resolve().relative_to(ROOT)


@functools.cache
def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def _executed(module: ModuleType, name: str, text: str) -> ModuleType:
    """Execute a source as a module; tracebacks show its lines. Raises InputError for a changed
    function that Numba compiles: that takes a second each time."""
    file = f"<{name}: {_path(module)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    fresh = ModuleType(f"{module.__name__} ({name})")
    sys.modules[fresh.__name__] = fresh  # where dataclasses looks up what an annotation names
    try:
        exec(compile(text, file, "exec"), vars(fresh))
    finally:
        del sys.modules[fresh.__name__]
    for key, function in vars(module).items():
        if isinstance(function, Compiled):
            if _code(vars(fresh)[key]) != _code(function):
                raise InputError(file, f"{key} is compiled by Numba", "edit what calls it")
            vars(fresh)[key] = function
    return fresh


def _code(function: Any) -> tuple[bytes, tuple[Any, ...]]:
    code: CodeType = function.__wrapped__.__code__
    return code.co_code, code.co_consts


@dataclass(frozen=True)
class Mutant:
    """A sampler, a chain or a batch that is wrong in one named way.

    name: "<sampler>/<fault>", the sampler spelled as everywhere, or "chain", or "batch".
    of: a change of the reference's text or, for an engine's stage, the faulty class, built in the
        sampler's place.
    source: the entry of the bug zoo and the public thread it is modelled on, or "ours".
    stage: the stage at which it must be caught; the sampler itself if no other is named.
        A fault that ends the worker leaves no stage: "crashed".
    case: the beginning of the id of the case made for it; tried first.
    text: the description of the fault; a class has it in its docstring.
    of_order: whether it changes which stages a chain has or their order: it shows at any of them.
    """

    name: str
    of: Patch | Callable[..., Any]
    source: str = "ours"
    at: str = ""
    case: str = ""
    text: str = ""
    of_order: bool = False

    @property
    def make(self) -> Callable[..., Any]:
        """The function that builds it. Raises InputError for a patch that does not fit the
        reference."""
        return self.of.faulty() if isinstance(self.of, Patch) else self.of

    @property
    def sampler(self) -> str:
        return self.name.split("/")[0]

    @property
    def stage(self) -> str:
        return self.at or self.sampler

    @property
    def fault(self) -> str:
        return self.text or inspect.getdoc(self.of) or ""
