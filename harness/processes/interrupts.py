"""Ctrl-C, where Python can carry it.

Inside pydantic's compiled half an exception of a signal handler is printed and lost, or becomes a
part of what it builds: a pattern that fits nothing from then on, and "bad input" that is none.
"""

import contextlib
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from types import FrameType

_LATER_S = 0.01


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Meanwhile a SIGINT is a KeyboardInterrupt as soon as pydantic has returned.

    Where something else handles it, or off the main thread, nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _heed)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _heed:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _heed(number: int, frame: FrameType | None) -> None:
    if not _in_pydantic(frame):
        raise KeyboardInterrupt
    again = threading.Timer(_LATER_S, _interrupt)
    again.daemon = True
    again.start()


def _interrupt() -> None:
    """A wait of the main thread ends of a signal alone, which Windows cannot send to a thread."""
    if sys.platform == "win32":
        interrupt_main()
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _in_pydantic(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("pydantic."):
            return True
        frame = frame.f_back
    return False
