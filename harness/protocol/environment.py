"""Reduce the environment for a backend, limit its memory, and keep the memory that it frees.

The environment has what the backend needs to start, and no secrets: an adapter is untrusted, and
the environment of a CI holds tokens. A program that needs more gets it in its command:
`-b "mine=env KEY=VALUE node adapter.js"`.
"""

import ctypes
import os
import re
import sys
from collections.abc import Mapping

_NAMES = frozenset(
    [
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "TZ"),
        *("XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "VIRTUAL_ENV"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
        # without these nothing starts on Windows
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA"),
        *("LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS"),
    ]
)
# of interpreters, numerical libraries and drivers: how many threads, which device, where files are
_FAMILIES = (
    *("SAMPLER_PARITY_", "LC_", "PYTHON", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_", "GOMP_", "KMP_"),
    *("GGML_", "CUDA_", "NVIDIA_", "VK_", "HIP_", "ROCR_", "HSA_", "METAL_", "NODE_", "MALLOC_"),
)
_SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|(^|_)KEY(_|$)")


def small(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of our environment that a backend gets."""
    return {
        name: value
        for name, value in environment.items()
        if (name.upper() in _NAMES or name.upper().startswith(_FAMILIES))
        and not _SECRET.search(name.upper())
    }


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
