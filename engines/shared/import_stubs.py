"""Stand-ins for packages and modules that an engine imports and its sampler never calls.

A stand-in has every name that is asked for: a class that does nothing. Only the named packages and
modules get one; a sampler that calls it fails at once.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class Nothing(type):
    """The metaclass of a stand-in's members."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {})

    def __getitem__(cls, _item: object) -> "Nothing":
        return cls

    def __or__(cls, _other: object) -> "Nothing":
        return cls

    def __ror__(cls, _other: object) -> "Nothing":
        return cls

    def __call__(cls, *arguments: Any, **_named: Any) -> Any:
        decorated = len(arguments) == 1 and callable(arguments[0])
        return arguments[0] if decorated else super().__call__()

    def __get_pydantic_core_schema__(cls, *_arguments: object) -> dict[str, Any]:
        return {"type": "any"}


class StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, Nothing(name, (), {"__module__": self.__name__}))
        return self.__dict__[name]


class Absent(MetaPathFinder, Loader):
    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(f"{fullname}.".startswith(f"{name}.") for name in self.packages):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def stand_in_for(packages: Sequence[str]) -> None:
    """Replace these packages, or modules by their full names, by stand-ins, installed or not."""
    sys.meta_path.insert(0, Absent(frozenset(packages)))


def without_init(name: str) -> None:
    """Put a package in its place without what its __init__ loads; its modules can be imported."""
    spec = find_spec(name)
    package = ModuleType(name)
    package.__path__ = [*((spec and spec.submodule_search_locations) or [])]
    sys.modules[name] = package
