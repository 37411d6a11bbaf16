"""Limit the memory of a worker, and keep what it frees, on systems that allow that."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc refuses more on 64 bits
_KEPT_FREE = 256 << 20  # bytes: 85 times the candidates of 262,144 tokens


def limit_memory() -> None:
    """Limit memory: a request that uses all of it then ends this process, not the machine."""
    if sys.platform == "linux":  # elsewhere there is no such limit, or it does not hold
        import resource

        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory // 2 if hard == resource.RLIM_INFINITY else min(hard, memory // 2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def lift_memory_limit() -> None:
    """Undo limit_memory."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def keep_freed_memory() -> None:
    """Keep the memory of freed arrays in this process, for the next arrays.

    By default glibc returns it to the system at every step, and each page of the next step's
    arrays costs a page fault: at 262,144 tokens a fifth to half of the default chain's time.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
