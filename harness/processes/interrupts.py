"""Delay Ctrl-C while pydantic runs.

Inside pydantic's compiled code an exception of a signal handler is printed and lost, or becomes
part of what it builds: a pattern that never matches again, or a false "bad input".
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
def interrupts_delayed() -> Iterator[None]:
    """Turn SIGINT into KeyboardInterrupt, as soon as pydantic has returned. Nothing changes off the
    main thread, or if something else handles SIGINT."""
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
    timer = threading.Timer(_LATER_S, _interrupt)
    timer.daemon = True
    timer.start()


def _interrupt() -> None:
    """Interrupt the main thread. Only a signal ends its waits; Windows cannot send it one."""
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
