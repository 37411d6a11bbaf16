"""`python -S -s count_applications.py JOB.json`: applies samplers of libllama, to be counted.

It runs under callgrind or perf and imports nothing but ctypes: every import would be counted, and
takes minutes there. All candidates are prepared first; `applications` of them are used.
"""

import ctypes
import json
import sys
from typing import Any


class TokenDataArray(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    libraries = [ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in job["needed"]]
    library = ctypes.CDLL(job["library"])
    stages = [_stage(library, symbol, arguments) for symbol, arguments in job["stages"]]
    for stage in stages:
        for token in job["history"]:
            library.llama_sampler_accept(stage, ctypes.c_int32(token))
    with open(job["candidates"], "rb") as raw:
        data = raw.read()
    n = len(data) // 12  # id, logit, p
    copies = [ctypes.create_string_buffer(data) for _ in range(job["prepared"])]
    arrays = [TokenDataArray(ctypes.addressof(copy), n, -1, False) for copy in copies]
    for array in arrays[: job["applications"]]:
        for stage in stages:
            library.llama_sampler_apply(stage, ctypes.byref(array))
    assert libraries is not None  # the libraries stay loaded


def _stage(library: Any, symbol: str, arguments: list[tuple[str, Any]]) -> ctypes.c_void_p:
    initialize = getattr(library, f"llama_sampler_init_{symbol}")
    initialize.restype = ctypes.c_void_p
    return ctypes.c_void_p(initialize(*(getattr(ctypes, kind)(value) for kind, value in arguments)))


if __name__ == "__main__":
    main()
