"""Folders that no option names."""

import time
from itertools import count
from pathlib import Path


def dated(kind: str = "", parent: str = "bundles") -> Path:
    """`bundles/KIND-20260131-235959`; where that is taken `-2`, `-3`, ... behind it."""
    name = "-".join(filter(None, (kind, time.strftime("%Y%m%d-%H%M%S"))))
    names = (name if n == 1 else f"{name}-{n}" for n in count(1))
    return next(folder for each in names if not (folder := Path(parent) / each).exists())
