"""tinygrad for its language model's sampler: float32 on its CPU device, compiled by its own X86
renderer.

Two parts are replaced, neither of the sampler. The wheel lacks tinygrad/llm/kernels (finding 72),
of which a stand-in is imported. The CPU device compiles the four programs of its queue with clang;
here `cc` compiles them.
"""

import importlib
import os
import platform
import subprocess
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.harness.errors import Unsupported

CC = ("cc", "-c", "-x", "c", "-O2", "-fPIC", "-ffreestanding", "-")


def compiled(_self: Any, source: str) -> bytes:
    """Compile a program of the queue: it copies commands and calls them, without a float."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.o")
        try:
            subprocess.run([*CC, "-o", str(file)], input=source.encode(), check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unsupported(f"tinygrad's CPU device needs a C compiler: {error}") from None
        return file.read_bytes()


@cache
def tinygrad() -> SimpleNamespace:
    """Import tinygrad. Raises Unsupported if it is not installed, or does not run here."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise Unsupported(f"tinygrad's X86 renderer does not run on {platform.machine()}")
    os.environ["DEV"] = "CPU:X86"
    os.environ["CACHELEVEL"] = "0"  # it would write into the user's cache folder
    stand_in_for(["tinygrad.llm.kernels"])
    try:
        package = importlib.import_module("tinygrad")
        compilers: Any = importlib.import_module("tinygrad.runtime.support.compiler_cpu")
        compilers.ClangCompiler.compile = compiled
        model = importlib.import_module("tinygrad.llm.model")
        jit = importlib.import_module("tinygrad.engine.jit")
    except ImportError as error:
        raise Unsupported(f"tinygrad does not load: {error}") from None
    tensor = package.Tensor
    tensor.manual_seed(0)
    tensor.rand(1).realize()  # makes the seed and the counter of the device
    return SimpleNamespace(
        Tensor=tensor,
        Transformer=model.Transformer,
        TinyJit=jit.TinyJit,
        version=f"tinygrad {version('tinygrad')} on the CPU, its X86 renderer",
    )


def same(x: Any) -> Any:
    return x


@cache
def model_of(n_vocab: int) -> Any:
    """Return a Transformer without layers: its "tokens" are the logits of [1, 1, n_vocab]."""
    engine = tinygrad()
    model = engine.Transformer.__new__(engine.Transformer)
    model.blk, model.token_embd, model.output_norm, model.output = [], same, same, same
    model.prefill_jit = engine.TinyJit(model.forward)
    model.rollout_jit = engine.TinyJit(model.forward)
    return model


class Device:
    """The state of tinygrad's random numbers on its device: its key and its counter."""

    def __init__(self) -> None:
        tensor = tinygrad().Tensor
        (self.seeds,) = tensor._device_seeds.values()
        (self.counter,) = tensor._device_rng_counters.values()

    def put(self, seed: int, count: int) -> None:
        self.seeds.assign(words(self.seeds.tolist()[0], seed)).realize()
        self.counter.assign(words(count & 0xFFFFFFFF, count >> 32)).realize()

    def count(self) -> int:
        low, high = self.counter.tolist()
        return int(low | high << 32)


def words(*values: int) -> Any:
    return tinygrad().Tensor(list(values), dtype="uint32").realize()
