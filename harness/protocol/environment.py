"""The environment that a backend gets: what it needs to start, and none of our secrets.

An adapter is a program of somebody else; on a CI our own environment holds tokens. What another
program needs beyond this is part of its command: `-b "mine=env KEY=VALUE node adapter.js"`.
"""

import re
from collections.abc import Mapping

_NAMES = frozenset(
    [
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "LANG", "TZ"),
        *(
            "XDG_CACHE_HOME",
            "XDG_RUNTIME_DIR",
            "VIRTUAL_ENV",
            "LD_LIBRARY_PATH",
            "DYLD_LIBRARY_PATH",
        ),
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
    """What a backend gets of our environment."""
    return {
        name: value
        for name, value in environment.items()
        if (name.upper() in _NAMES or name.upper().startswith(_FAMILIES))
        and not _SECRET.search(name.upper())
    }
