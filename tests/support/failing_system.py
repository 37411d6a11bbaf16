"""Calls of this process that change files below a folder, one of which fails.

Python reports each such call to an audit hook, whichever module makes it. A hook cannot be removed,
so there is one for all tests.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.link"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass
class FailingSystem:
    """nth: the call that fails, from 1. for_ever: all after it fail, too. made: the calls, in
    words."""

    folder: Path
    nth: int
    error: int
    for_ever: bool = False
    made: list[str] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        return len(self.made) >= self.nth

    def call(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES and not (event == "open" and _writes(arguments)):
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if isinstance(arguments[0], os.PathLike):
            path = os.fspath(arguments[0])
        # a call that is relative to an open folder (shutil.rmtree) names the file alone
        if not os.path.isabs(path) and isinstance(arguments[-1], int) and arguments[-1] >= 0:
            with contextlib.suppress(OSError):
                path = os.path.join(os.readlink(f"/proc/self/fd/{arguments[-1]}"), path)
        if not Path(path).is_relative_to(self.folder):
            return
        self.made.append(f"{event} {path}")
        if len(self.made) == self.nth or (self.for_ever and self.reached):
            raise OSError(self.error, os.strerror(self.error), path)


def _writes(arguments: tuple[Any, ...]) -> bool:
    return isinstance(arguments[2], int) and bool(arguments[2] & _WRITES)


_failing: list[FailingSystem] = []
_hooked: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _failing:
        failing = _failing.pop()  # what the hook does itself is not counted
        try:
            failing.call(event, arguments)
        finally:
            _failing.append(failing)


@contextlib.contextmanager
def failing_system(failing: FailingSystem) -> Iterator[FailingSystem]:
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_hook)
    _failing.append(failing)
    try:
        yield failing
    finally:
        _failing.clear()
