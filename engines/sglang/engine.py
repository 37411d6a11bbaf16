"""SGLang for its sampler only: its modules, without those that serve, and without a GPU.

SGLang's own hash for a CPU is compiled and in no package. It is replaced by the functions of
SGLang's Triton kernel of the same hash, run as Python on integers of 64 bits.
"""

import importlib
import os
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.harness.errors import Unsupported

NOT_CALLED = (
    # Imported by its utilities and its batch: pictures, servers, kernels for a GPU.
    *("IPython", "PIL", "dill", "orjson", "pybase64", "requests", "starlette", "zmq"),
    *("triton", "sgl_kernel"),
    # The schedule, a model's output, grammars.
    "sglang.srt.managers",
    "sglang.srt.constrained",
    "sglang.srt.layers.dp_attention",
    "sglang.srt.layers.logits_processor",
    "sglang.srt.layers.logprob_processor",
)


@cache
def sglang() -> SimpleNamespace:
    """Import SGLang. Raises Unsupported if it is not installed."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # the same softmax and sort on every CPU
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # no compiler is needed
    stand_in_for(NOT_CALLED)
    try:
        torch = importlib.import_module("torch")
        _without_servers()
        _as_python(torch)
        sampler = importlib.import_module("sglang.srt.layers.sampler")
        batch = importlib.import_module("sglang.srt.sampling.sampling_batch_info")
        params = importlib.import_module("sglang.srt.sampling.sampling_params")
        kernel = importlib.import_module("sglang.kernels.ops.sampling.murmur_hash")
    except ImportError as error:
        raise Unsupported(f"SGLang does not load: {error}") from None
    torch.set_num_threads(1)
    _hash_of(torch, kernel)
    return SimpleNamespace(
        torch=torch,
        version=f"sglang {version('sglang')}, torch {torch.__version__}",
        SamplingParams=params.SamplingParams,
        SamplingBatchInfo=batch.SamplingBatchInfo,
        Sampler=sampler.Sampler,
        modules=(sampler, batch),
    )


def _without_servers() -> None:
    """Import the package without the modules that its __init__ loads."""
    spec = find_spec("sglang")
    if spec is None:
        raise ImportError("No module named 'sglang'")
    package = ModuleType("sglang")
    package.__path__ = list(spec.submodule_search_locations or [])
    sys.modules["sglang"] = package


def _as_python(torch: Any) -> None:
    """Run Triton's functions as plain Python, their numbers as torch's."""
    triton: Any = importlib.import_module("triton")
    language: Any = importlib.import_module("triton.language")
    triton.jit = lambda of=None, **_named: of or (lambda function: function)
    language.uint32 = language.uint64 = torch.int64


def _hash_of(torch: Any, kernel: Any) -> None:
    """Define torch.ops.sgl_kernel.murmur_hash32_cpu like the kernel for a GPU."""

    def murmur_hash32(seed: Any, positions: Any, columns: Any) -> Any:
        seed, positions = seed.to(torch.int64), positions.to(torch.int64)
        hashed = torch.zeros((len(seed), len(columns)), dtype=torch.int64)
        for word in (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, positions & 0xFFFFFFFF):
            hashed = kernel.murmur3_mix(hashed, word[:, None])
        hashed = kernel.murmur3_mix(hashed, columns.to(torch.int64)[None, :])
        return kernel.fmix32(hashed ^ 16)

    schema = "murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor columns) -> Tensor"
    library = torch.library.Library("sgl_kernel", "DEF")
    library.define(schema)
    library.impl("murmur_hash32_cpu", murmur_hash32, "CPU")
    kernel.library = library  # gone with it, else
