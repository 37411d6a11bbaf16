"""Name the folder of a bundle that no option names."""

import time
from itertools import count
from pathlib import Path


def dated(kind: str = "", parent: str = "bundles") -> Path:
    """Return `bundles/KIND-20260131-235959`, with `-2`, `-3`, ... if that exists."""
    name = "-".join(filter(None, (kind, time.strftime("%Y%m%d-%H%M%S"))))
    names = (name if n == 1 else f"{name}-{n}" for n in count(1))
    return next(folder for candidate in names if not (folder := Path(parent) / candidate).exists())
