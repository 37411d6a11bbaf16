"""How much memory a worker may take, where the system keeps such a limit (Linux)."""

import os
import sys


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
