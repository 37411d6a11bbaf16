"""Find the processes that are alive, and wait until a condition holds."""

import time
from collections.abc import Callable
from pathlib import Path


def alive(*pids: int) -> list[int]:
    """Return the processes that run; a zombie does not."""
    return [pid for pid in pids if _state(pid) not in ("", "Z", "X")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def until(true: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "not within time"
        time.sleep(0.005)
