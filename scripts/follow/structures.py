"""`python -m scripts.follow.structures FOLDER`: the bytes that a libllama writes as the default
parameters of models and contexts, as JSON. So two builds can be compared without a header.
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from sampler_parity.harness.llama_cpp.libllama import Libllama

FUNCTIONS = {
    "llama_model_params": "llama_model_default_params",
    "llama_context_params": "llama_context_default_params",
}


def written_by(function: Any) -> bytes:
    """Return the bytes that a function writes of the structure it returns; 0xEE for a byte that it
    leaves alone. x86-64: the caller passes the address of a result."""
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    filled = []
    for fill in (0xAA, 0x55):
        space = (ctypes.c_ubyte * 1024)(*[fill] * 1024)
        function(ctypes.addressof(space))
        filled.append(bytes(space))
    size = 1 + max(i for i in range(1024) if filled[0][i] == filled[1][i])
    return bytes(a if a == b else 0xEE for a, b in zip(*filled, strict=True))[:size]


def written(folder: Path) -> dict[str, str]:
    """Return the bytes of each structure in hexadecimal."""
    library = Libllama(folder)._library
    return {name: written_by(getattr(library, f)).hex() for name, f in FUNCTIONS.items()}


if __name__ == "__main__":
    print(json.dumps(written(Path(sys.argv[1]))))
