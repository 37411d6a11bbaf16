"""Filters of ik_llama.cpp 55d3c05 that leave nothing, or everything. The package alone:

sampler-parity engines exec ik_llama -- python studies/findings/finding_50_filters.py
"""

import ctypes
import os
import sys
from importlib import import_module
from typing import Any

api: Any = import_module("ik_llama_cpp._ctypes_api")

os.environ["PATH"] = ""  # or an abort runs gdb


def filtered(name: str, logits: list[float], *arguments: Any) -> str:
    """Count the candidates that llama_sample_NAME leaves, in a process of its own, or return its
    end.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        data = (api.llama_token_data * len(logits))(*((i, x, 0.0) for i, x in enumerate(logits)))
        array = api.llama_token_data_array(data=data, size=len(logits), selected=-1, sorted=False)
        function = getattr(api._lib, f"llama_sample_{name}")
        function.restype = None
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *map(type, arguments)]
        function(None, ctypes.byref(array), *arguments)
        os.write(write, b"%d of %d candidates" % (array.size, len(logits)))
        os._exit(0)
    os.close(write)
    status = os.waitpid(child, 0)[1]
    output = os.read(read, 100).decode()
    return output or f"the process ends with signal {os.WTERMSIG(status)}"


met: list[bool] = []


def show(what: str, expected: str, got: str) -> None:
    print(f"{what}\n  expected  {expected}\n  got       {got}")
    met.append(got == expected)


share, none = ctypes.c_float, ctypes.c_size_t(0)
below_zero, falling = [-5.0, -5.5, -6.0, -5.25, -5.75], [3.0, 2.0, 1.0, 0.0, -1.0]
got = filtered("top_n_sigma", below_zero, share(1))
show("top_n_sigma of 1 on logits that are all below 0", "2 of 5 candidates", got)
got = filtered("top_n_sigma", [x + 10 for x in below_zero], share(1))
show("the same logits, 10 larger", "2 of 5 candidates", got)
expected = filtered("typical", falling, share(0.5), ctypes.c_size_t(1))
got = filtered("typical", falling, share(0.5), none)
show("typical of 0.5 with min_keep 0, common_params_sampling's default; as with 1", expected, got)
got = filtered("min_p", [0.0, 1.0, 2.0], share(2), none)
show("min_p of 2 with min_keep 0", "1 of 3 candidates", got)
sys.exit(not all(met))
