"""ggml's devices: the library of a build's folder that computes, and which of them run here.

A build either links its devices or holds each as a library: libggml-cpu-haswell.so is a CPU variant
and scores itself against this processor (0: cannot run), libggml-vulkan.so a GPU backend.
"""

import os
from ctypes import CDLL, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.build_files import GPUS, device_files

_DRIVER = "is its driver installed?"

# The flags that each variant in ggml/src/CMakeLists.txt (v0.5.0) adds to x64, as in /proc/cpuinfo.
_AVX512 = "avx512f avx512cd avx512vl avx512dq avx512bw"
_HASWELL = "sse4_2 avx f16c fma avx2 bmi2"
_FLAGS = {
    "x64": "",
    "sse42": "sse4_2",
    "sandybridge": "sse4_2 avx",
    "ivybridge": "sse4_2 avx f16c",
    "piledriver": "sse4_2 avx f16c fma",
    "haswell": _HASWELL,
    "alderlake": f"{_HASWELL} avx_vnni",
    "skylakex": f"{_HASWELL} {_AVX512}",
    "cannonlake": f"{_HASWELL} {_AVX512} avx512vbmi",
    "cascadelake": f"{_HASWELL} {_AVX512} avx512_vnni",
    "icelake": f"{_HASWELL} {_AVX512} avx512vbmi avx512_vnni",
    "cooperlake": f"{_HASWELL} {_AVX512} avx512_vnni avx512_bf16",
    "zen4": f"{_HASWELL} {_AVX512} avx512vbmi avx512_vnni avx512_bf16",
    "sapphirerapids": f"{_HASWELL} {_AVX512} avx512vbmi avx512_vnni avx512_bf16 amx_int8",
}

# name -> (result, arguments)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "ggml_backend_load": (c_void_p, [c_char_p]),
    "ggml_backend_load_all_from_path": (None, [c_char_p]),
    "ggml_backend_reg_by_name": (c_void_p, [c_char_p]),
    "ggml_backend_reg_dev_count": (c_size_t, [c_void_p]),
    "ggml_backend_reg_dev_get": (c_void_p, [c_void_p, c_size_t]),
    "ggml_backend_dev_count": (c_size_t, []),
    "ggml_backend_dev_get": (c_void_p, [c_size_t]),
    "ggml_backend_dev_name": (c_char_p, [c_void_p]),
    "ggml_backend_dev_description": (c_char_p, [c_void_p]),
}


class Devices:
    """The devices of a build whose libraries are loaded. gpu: a ggml_backend_dev_t, or None.

    device "" leaves the choice to ggml. Raises InputError for one that does not run here.
    """

    def __init__(self, folder: Path, libraries: list[CDLL], device: str = "") -> None:
        self._folder, self._libraries = folder, libraries
        self.gpu: int | None = None
        load_all = self._function("ggml_backend_load_all_from_path")
        if device in GPUS:
            self.gpu = self._load_gpu(device)
        elif device:
            self._load_variant(device)
        elif load_all is not None:  # old builds link their only device
            load_all(os.fsencode(folder))

    def describe(self) -> str:
        """Format every device with its name and description: "CPU (Intel Xeon)"."""
        count = self._function("ggml_backend_dev_count")
        if count is None:
            return "CPU"
        get = self._function("ggml_backend_dev_get")
        return ", ".join(self._described(get(i)) for i in range(count()))

    def name_of_gpu(self) -> str:
        return self._text("ggml_backend_dev_description", self.gpu)

    def _described(self, device: int) -> str:
        name = self._text("ggml_backend_dev_name", device)
        about = self._text("ggml_backend_dev_description", device)
        return name if about == name else f"{name} ({about})"

    def _text(self, function: str, device: int | None) -> str:
        return str(self._function(function)(device).decode(errors="replace"))

    def _load_variant(self, variant: str) -> None:
        path = self._file(variant)
        if score(path) == 0:
            raise InputError(path.name, lacking(variant), "choose another device")
        self._load(path)

    def _load_gpu(self, device: str) -> int:
        """Return the first GPU of this kind; load the best CPU variant, too."""
        if device == "vulkan":  # else ggml takes no software device
            os.environ.setdefault("GGML_VK_VISIBLE_DEVICES", "0")
        registry = os.fsencode(GPUS[device])
        by_name = self._function("ggml_backend_reg_by_name")
        if by_name is None or not by_name(registry):  # else it is linked
            self._load(self._file(device))
            files = device_files(self._folder)
            variants = [path for name, path in files.items() if name not in GPUS]
            best = max(variants, key=score, default=None)
            if best is not None:
                self._load(best)
        kind = self._function("ggml_backend_reg_by_name")(registry)
        if not kind or not self._function("ggml_backend_reg_dev_count")(kind):
            raise InputError(self._folder, f"no {device} device here", _DRIVER)
        return int(self._function("ggml_backend_reg_dev_get")(kind, 0))

    def _file(self, device: str) -> Path:
        files = device_files(self._folder)
        if device not in files:
            problem = f"has no device {device!r} to load"
            devices = ", ".join(files) or "none: they are linked"
            raise InputError(self._folder, problem, f"it has {devices}")
        return files[device]

    def _load(self, path: Path) -> None:
        _open(path)
        if not self._function("ggml_backend_load")(os.fsencode(path)):
            raise InputError(path.name, "ggml finds no such device here", _DRIVER)

    def _function(self, name: str) -> Any:
        for library in self._libraries:
            function = getattr(library, name, None)
            if function is not None:
                function.restype, function.argtypes = _SIGNATURES[name]
                return function
        return None


def lacking(variant: str) -> str:
    """Return why a CPU variant does not run here."""
    from sampler_parity.harness.bundle import machine  # loads what lists packages

    have = machine.describe().cpu_flags
    missing = [flag for flag in _FLAGS.get(variant, "").split() if flag not in have]
    return f"this processor lacks {', '.join(missing) or 'what it needs'}"


def _open(path: Path) -> CDLL:
    """Open a library. Raises InputError with the loader's reason, which ggml does not report."""
    try:
        return CDLL(str(path))
    except OSError as error:
        raise InputError(path.name, f"cannot be loaded: {error}", _DRIVER) from None


def score(path: Path) -> int:
    """Return how well a CPU variant suits this processor; 0: it cannot run. 1 if it has no
    score."""
    function = getattr(_open(path), "ggml_backend_score", None)
    if function is None:
        return 1
    function.restype, function.argtypes = c_int, []
    return int(function())
