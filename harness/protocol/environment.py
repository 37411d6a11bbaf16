"""Reduce the environment for a backend: what it needs to start, and no secrets.

An adapter is untrusted, and the environment of a CI holds tokens. A program that needs more gets it
in its command: `-b "mine=env KEY=VALUE node adapter.js"`.
"""

import re
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
