"""Load some files of an installed package for Triton's interpreter, each after edits of its text.

Every other module of the package is a stand-in: nothing compiled is loaded, no GPU is looked for.
"""

import linecache
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from sampler_parity.engines.shared.import_stubs import StandIn
from sampler_parity.harness.errors import Unsupported


@dataclass(frozen=True)
class Edit:
    """Replace `old` by `new` in a file. module: the end of its name. times: how often it occurs."""

    module: str
    old: str
    new: str
    times: int = 1

    def applied(self, text: str) -> str:
        """Return the text after the edit. Raises ValueError if it does not fit."""
        if text.count(self.old) != self.times:
            found = text.count(self.old)
            raise ValueError(f"{self.module}: {self.old!r} occurs {found} times, not {self.times}")
        return text.replace(self.old, self.new)


def edit_of(row: Mapping[str, Any]) -> Edit:
    """Return the edit of a row of a table of faults."""
    return Edit(row["module"], row["old"], row["new"], row.get("times", 1))


def patched_once(interpreter: Any) -> None:
    """Let the interpreter keep what it makes anew in each step and never changes.

    These are its patches of triton.language, for each launch and each call of a function in a
    kernel, and numpy's type of a type of Triton, for each operation. It makes no conditions for
    overflows, which it would not check: device_assert does nothing outside debugging.
    """
    if interpreter._patch_lang.__name__ != "_patch_lang":
        return
    known: set[Any] = set()
    seen: set[Any] = set()
    types: dict[str, Any] = {}
    patch, type_of = interpreter._patch_lang, interpreter._get_np_dtype
    kept = SimpleNamespace(restore=lambda: None)

    def once(kernel: Any) -> Any:
        if kernel in seen:
            return kept
        seen.add(kernel)
        languages = (interpreter.tl, interpreter.tl.core)
        found = [
            one for one in languages if any(one is each for each in kernel.__globals__.values())
        ]
        if not known.issuperset(found):
            known.update(found)
            patch(kernel)
        return kept

    def known_type_of(of: Any) -> Any:
        name = of.scalar.name
        if name not in types:
            types[name] = type_of(of)
        return types[name]

    interpreter._patch_lang, interpreter._get_np_dtype = once, known_type_of
    options = interpreter.InterpreterOptions(sanitize_overflow=False)
    interpreter.interpreter_builder.options = options


class Files(MetaPathFinder, Loader):
    """Find every module of a package: a file of the wheel, or a stand-in.

    files: the modules that are loaded. given: names of the stand-ins, by module.
    """

    def __init__(
        self,
        package: str,
        files: Sequence[str],
        edits: Sequence[Edit],
        given: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self.package, self.files, self.edits, self.given = package, files, edits, given
        self.root = root_of(package)

    def enter(self) -> None:
        """Take the place of an earlier one, and forget its modules. It stays: a function may import
        a stand-in when it is called."""
        sys.meta_path[:] = [self, *(one for one in sys.meta_path if not isinstance(one, Files))]
        for name in [name for name in sys.modules if name.partition(".")[0] == self.package]:
            del sys.modules[name]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != self.package:
            return None
        return ModuleSpec(fullname, self, is_package=fullname not in self.files)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name in self.files:
            return None
        module = StandIn(spec.name)
        vars(module).update(self.given.get(spec.name, {}))
        return module

    def exec_module(self, module: ModuleType) -> None:
        if isinstance(module, StandIn):
            return
        text = text_of(module.__name__)
        for edit in self.edits:
            if module.__name__.endswith(edit.module):
                text = edit.applied(text)
        # Triton reads the text of a kernel by its line numbers.
        name = f"<{module.__name__} of {id(self)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), vars(module))


def text_of(module: str) -> str:
    """Return the text of a module of an installed package."""
    package, *names = module.split(".")
    file = root_of(package).joinpath(*names).with_suffix(".py")
    return file.read_text(encoding="utf-8")


def placed(pairs: Sequence[tuple[str, str]], modules: Sequence[str]) -> tuple[Edit, ...]:
    """Return edits of the modules that have the old texts. Raises ValueError for a text that more
    of them have, or none."""
    edits = []
    for old, new in pairs:
        found = [module for module in modules if old in text_of(module)]
        if len(found) != 1:
            raise ValueError(f"{old!r} is in {len(found)} files")
        edits.append(Edit(found[0], old, new))
    return tuple(edits)


_ROOTS: dict[str, Path] = {}


def root_of(package: str) -> Path:
    """Return the folder of an installed package. Raises Unsupported if there is none."""
    if package not in _ROOTS:  # later the finder answers for it
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise Unsupported(f"{package} is not installed")
        _ROOTS[package] = Path(next(iter(spec.submodule_search_locations)))
    return _ROOTS[package]
