"""The system's calls that write a bundle, one of which fails.

Use it with `monkeypatch` in place of `os` in harness/bundle/disk.py and harness/bundle/lock.py.
"""

import os
from functools import partial
from typing import Any

CALLS = {"makedirs", "open", "fstat", "write", "fsync", "ftruncate", "replace", "unlink", "close"}


class FailingDisk:
    """nth: the call that fails, from 1. error: of the system; 0: a write takes only a half.

    half: a write that fails has taken a half before. for_ever: all calls after it fail, too, as on
    a disk that stays full.

    Calls that succeed need not reach the disk: fsync does nothing.
    """

    def __init__(self, nth: int, error: int, half: bool = False, for_ever: bool = False) -> None:
        self.nth, self.error, self.half, self.for_ever = nth, error, half, for_ever
        self.made = 0

    @property
    def reached(self) -> bool:
        """Whether there were so many calls."""
        return self.made >= self.nth

    def __getattr__(self, name: str) -> Any:
        call = (lambda file: None) if name == "fsync" else getattr(os, name)
        return partial(self._call, name, call) if name in CALLS else call

    def _call(self, name: str, call: Any, *arguments: Any, **options: Any) -> Any:
        self.made += 1
        struck = self.made == self.nth or (self.for_ever and self.reached)
        error = self.error if struck else 0
        halved = struck and name == "write" and (self.half or not error)
        if halved:
            file, content = arguments
            arguments = file, content[: (len(content) + 1) // 2]
        result: Any = None
        if not error or halved or name == "close":  # a close that fails has closed
            result = call(*arguments, **options)
        if error:
            raise OSError(error, os.strerror(error))
        return result
