"""Processes of this machine as an executor."""

import _thread
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def pool(jobs: int, tasks: int) -> ProcessPoolExecutor:
    """jobs: how many processes; 0: one a core. No more than tasks, for each starts its backends."""
    processes = min(jobs or os.cpu_count() or 1, max(tasks, 1))
    return ProcessPoolExecutor(processes, mp_context=get_context(start_method()))


def start_method() -> str:
    """fork where it is safe: its processes have at once what this one has imported, which takes a
    new one longer than most chunks. A lock that a thread of Python's holds would stay locked in the
    copy; OpenBLAS ends its threads before a fork by itself. macOS's own libraries do not bear it.
    """
    return "fork" if sys.platform == "linux" and _thread._count() == 0 else "spawn"
