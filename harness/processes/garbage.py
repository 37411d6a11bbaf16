"""When Python looks for garbage: not while a process starts, nor while a bundle is read."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """While modules are imported: none of their 100,000 objects is garbage, and to look through
    them a hundred times is a tenth of a start. Of a bundle with 300,000 cases it is the half. What
    there is after the first time is never looked through again; after a later one it may be
    garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
        if collects:
            gc.enable()
