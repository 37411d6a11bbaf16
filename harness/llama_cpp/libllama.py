"""A thin ctypes layer over libllama: the functions that sampling needs, and no more.

The `llama_cpp` package binds every symbol when it is imported and so refuses other builds; here a
symbol that a build lacks is None. Only the shared libraries are used, by default those that
llama-cpp-python installed.

The messages of a refusal, in the log and on stderr, are read by asking once more (`words_of`):
until then stderr is the one that the harness reads, so the last output of a process that dies is
there.
"""

import ctypes
import functools
import os
import tempfile
from collections import deque
from collections.abc import Callable
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char_p,
    c_float,
    c_int32,
    c_size_t,
    c_uint32,
    c_void_p,
)
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError, Unsupported, lacking
from sampler_parity.harness.files import toml_of
from sampler_parity.harness.llama_cpp.build_files import NAME_IT, check, needed_libraries
from sampler_parity.harness.llama_cpp.candidates import TokenDataArray
from sampler_parity.harness.llama_cpp.devices import Devices
from sampler_parity.harness.llama_cpp.signatures import (
    ARGUMENTS,
    SIGNATURES,
    TYPES,
    Signature,
    model_layout,
    order,
    signature,
)
from sampler_parity.reference.chronology import NEWEST, SEEN

_ALL_LAYERS = 1 << 16


class ChainParams(Structure):
    _fields_ = (("no_perf", c_bool),)


class ModelParams(Structure):
    """llama_model_params of v0.5.0. The struct of an older release is shorter and fits into it."""

    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int32),
        ("load_mode", c_int32),
        ("lazy_mode", c_int32),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class ContextParams(Structure):
    """llama_context_params of v0.5.0, as far as it is set here; the rest is kept as it comes."""

    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("_enums", c_uint32),
        ("_middle", ctypes.c_uint64 * 12),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class LongerContextParams(Structure):
    """The same with eight bytes more in the middle, as b11549 has them (its
    llama_context_default_params writes 168 bytes)."""

    _fields_ = (
        *ContextParams._fields_[:10],
        ("_middle", ctypes.c_uint64 * 13),
        *ContextParams._fields_[11:],
    )


# Not known for other releases: llama.cpp writes past the end of a struct that is too short.
CONTEXT_PARAMS: dict[str, type[Structure]] = {NEWEST: ContextParams, SEEN: LongerContextParams}


class Counters(Structure):
    """llama_perf_sampler_data: of a chain that was made with no_perf = false."""

    _fields_ = (("t_sample_ms", ctypes.c_double), ("n_sample", c_int32))


class SequenceSampler(Structure):
    """llama_sampler_seq_config: the chain that is put into the graph for a sequence."""

    _fields_ = (("seq_id", c_int32), ("sampler", c_void_p))


class LlamaBatch(Structure):
    _fields_ = (
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(ctypes.c_int8)),
    )


_ERROR = 4  # GGML_LOG_LEVEL_ERROR
_MOST = 4096  # bytes of stderr
logged: deque[str] = deque(maxlen=8)


def keep_error(level: int, text: bytes, _data: object) -> None:
    """Store the last errors and drop the rest: a log callback."""
    if level == _ERROR:
        logged.append(text.decode(errors="replace"))


_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, c_char_p, c_void_p)
# of the module, because llama.cpp calls it as long as the process lives
_KEEP_ERRORS = _LOG(keep_error)

# those of functions.toml; the rest are in signatures.py
_TYPES: dict[str, Any] = TYPES | {
    "void": None,
    "float *": POINTER(c_float),
    "log_callback": _LOG,
    "model_params": ModelParams,
    "chain_params": ChainParams,
    "batch": LlamaBatch,
    "token_data_array *": POINTER(TokenDataArray),
    "counters": Counters,
}
FUNCTIONS_FILE = Path(__file__).with_name("functions.toml")
_FUNCTIONS = {
    name: [_TYPES[kind] for kind in kinds]
    for name, kinds in toml_of(FUNCTIONS_FILE, FUNCTIONS_FILE.read_bytes()).items()
}


def default_folder() -> Path:
    """Return the folder of llama-cpp-python's shared libraries. Raises InputError if it is not
    installed."""
    spec = find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("llama.cpp", lacking("llama"))
    return Path(spec.submodule_search_locations[0]) / "lib"


class Libllama:
    """A loaded libllama: each function of functions.toml is an attribute, None if it has none.

    release: "" for the one that the library reports. With the arguments of another release its
    samplers sample wrongly or hang. device: the CPU variant or GPU that computes; "" leaves the
    choice to ggml. Raises InputError if the folder holds no libllama, it cannot be loaded, or its
    release is not known.
    """

    def __init__(self, folder: Path, release: str = NEWEST, device: str = "") -> None:
        path = check(folder)
        # ggml answers an abort by running gdb on itself, which takes minutes and hides the reason
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        try:
            # by hand, because some builds name the folder in which they were made and not their own
            self._needed = [
                ctypes.CDLL(str(needed), ctypes.RTLD_GLOBAL) for needed in needed_libraries(folder)
            ]
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise InputError(path, f"cannot be loaded: {error}") from None
        self.path, self._device = path, device
        self._initializers: dict[tuple[str, Signature | None], tuple[Signature, Any]] = {}
        for symbol, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._library, symbol, None)
            if function is not None:
                function.restype, function.argtypes = result, arguments
            setattr(self, symbol, function)
        self.release = release or self._reported()
        if params := CONTEXT_PARAMS.get(self.release):
            self.llama_context_default_params = self._library.llama_context_default_params
            self.llama_context_default_params.restype = params
            self.llama_init_from_model = self._library.llama_init_from_model
            self.llama_init_from_model.restype = c_void_p
            self.llama_init_from_model.argtypes = [c_void_p, params]
        self.llama_log_set(_KEEP_ERRORS, None)
        self.llama_backend_init()

    def _reported(self) -> str:
        """Return the release that the library reports: v0.5.0 for 0.5.0-dev. Raises InputError."""
        if self.llama_version is None:
            raise InputError(self.path, "does not report its release of llama.cpp", NAME_IT)
        release = f"v{self.llama_version().decode().partition('-')[0]}"
        if order(release) > order(NEWEST):
            problem = f"reports {release}; the signatures of its samplers are known up to {NEWEST}"
            raise InputError(self.path, problem, NAME_IT)
        return release

    @property
    def decodes(self) -> bool:
        """Return whether it is known how this release takes a context."""
        return self.release in CONTEXT_PARAMS

    def __getattr__(self, name: str) -> Any:  # for mypy: the functions are set in __init__
        raise AttributeError(name)

    def has(self, sampler: str) -> bool:
        """Return whether the build exports the sampler, with any signature."""
        rows = SIGNATURES.get(sampler, ())
        return any(hasattr(self._library, f"llama_sampler_init_{row.symbol}") for row in rows)

    def initializer(self, sampler: str, override: Signature | None = None) -> tuple[Signature, Any]:
        """Return a sampler's signature and its initializer. override: replaces the usual one.
        Raises Unsupported if the build lacks the sampler, or its signature in this release is not
        known."""
        if cached := self._initializers.get((sampler, override)):
            return cached
        if not self.has(sampler):
            raise Unsupported(f"this build of llama.cpp has no sampler {sampler}")
        taken = override or signature(sampler, self.release)
        function = self._library[f"llama_sampler_init_{taken.symbol}"]  # an object of its own
        function.restype = c_void_p
        function.argtypes = [ARGUMENTS[name] for name in taken.arguments]
        self._initializers[sampler, override] = taken, function
        return taken, function

    @functools.cached_property
    def devices(self) -> Devices:
        """Load the devices: only models need them, sampling does not. Raises InputError."""
        return Devices(self.path.parent, self._needed, self._device)

    def load_model(self, path: Path, vocab_only: bool = False) -> int:
        """Load a llama_model. Raises InputError if llama.cpp refuses the file, Unsupported if the
        model parameters of this release are not known."""
        layout = model_layout(self.release)
        params = self.llama_model_default_params()
        gpu = None if vocab_only else self.devices.gpu
        only = (c_void_p * 2)(gpu, None)
        if gpu is not None:
            params.devices = ctypes.addressof(only)
        c_int32.from_buffer(params, layout.n_gpu_layers).value = _ALL_LAYERS if gpu else 0
        c_bool.from_buffer(params, layout.vocab_only).value = vocab_only
        load = self.llama_model_load_from_file or self.llama_load_model_from_file
        model = load(str(path).encode(), params)
        if not model:
            raise InputError(path, "llama.cpp cannot load this model", "check the GGUF file")
        return int(model)

    def apply(self, sampler: int, array: TokenDataArray) -> None:
        self.llama_sampler_apply(sampler, byref(array))


def words_of(refused: Callable[[], object]) -> str:
    """Call what llama.cpp has just refused again, and return its messages in one line of at most
    300 characters."""
    logged.clear()
    stderr = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                refused()
            finally:
                os.dup2(stderr, 2)
            file.seek(0)
            printed = file.read(_MOST)
    finally:
        os.close(stderr)
    text = " ".join(" ".join([printed.decode(errors="replace"), *logged]).split())
    return text[:300]
