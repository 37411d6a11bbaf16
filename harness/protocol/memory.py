"""How much memory a worker may take, and when it gives it back, where the system can be told so."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc refuses more on 64 bits
_KEPT_FREE = 256 << 20  # bytes: 85 times the candidates of 262,144 tokens


def limit_memory() -> None:
    """A request that wants all memory ends this process and not the machine."""
    if sys.platform == "linux":  # elsewhere there is no such limit, or it is not kept
        import resource

        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory // 2 if hard == resource.RLIM_INFINITY else min(hard, memory // 2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def lift_memory_limit() -> None:
    """As before limit_memory."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def keep_freed_memory() -> None:
    """What arrays leave behind stays with this process, for the next ones.

    By default glibc hands it back to the system at every step, and each page of the next step's
    arrays costs a page fault again: at 262,144 tokens a fifth to half of the default chain.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_FREE)
