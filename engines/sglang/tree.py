"""SGLang's CUDA kernel that verifies trees of drafts, compiled for a CPU by a C++ compiler.

The texts are those of the installed packages: the kernel of SGLang, and of FlashInfer's
sampling.cuh the draw from probabilities. block.cpp has the words of CUDA that they use. A block has
64 threads, SGLang's has 1,024.
"""

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from sampler_parity.engines.shared.triton_files import Edit, root_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.cache_folder import cache_folder

KERNEL = "kernels/jit/include/sgl_kernel/speculative/sampling.cuh"
DRAW = "data/include/flashinfer/sampling.cuh"
# The parts of the file of the draw: the last line of each one's head. A template is above it.
PARTS = (
    "struct ValueCount {",
    "struct BoolDiffOp {",
    "struct SamplingTempStorage {",
    "__device__ __forceinline__ void DeterministicInclusiveSum(",
    "__device__ __forceinline__ void DeviceSamplingFromProb(",
)
# g++ wants the word that nvcc does without.
WORDS = (
    (".Sum<VEC_SIZE>(", ".template Sum<VEC_SIZE>("),
    (".SubtractLeft<VEC_SIZE>(", ".template SubtractLeft<VEC_SIZE>("),
)
SOURCE = Path(__file__).with_name("block.cpp")
OPTIONS = ["-std=c++20", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-w"]


def draw_of(text: str) -> str:
    """Return the parts of FlashInfer's file. Raises ValueError for another file."""
    parts = []
    for head in PARTS:
        if text.count(f"\n{head}") != 1:
            raise ValueError(f"{head!r} occurs {text.count(head)} times in FlashInfer's file")
        at = text.index(f"\n{head}")
        start = at if text[:at].endswith("\n") else text.rindex("\ntemplate", 0, at)
        parts.append(text[start : text.index("\n", text.index("\n}", at) + 1)])
    return "\n".join(parts) + "\n"


@cache
def compiled(edits: tuple[Edit, ...] = (), threads: int = 64) -> Callable[..., None]:
    """Return the kernel as a function. edits: of the text of SGLang's file. threads: of a block, a
    multiple of 32. Raises InputError without a compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        raise InputError("SGLang's kernel", "needs a C++ compiler", "there is no c++ on the path")
    kernel = (root_of("sglang") / KERNEL).read_text(encoding="utf-8")
    for edit in edits:
        kernel = edit.applied(kernel)
    kernel = kernel.replace("#include <flashinfer/sampling.cuh>", "")
    draw = draw_of((root_of("flashinfer") / DRAW).read_text(encoding="utf-8"))
    for old, new in WORDS:
        kernel, draw = kernel.replace(old, new), draw.replace(old, new)
    options = [*OPTIONS, f"-DTHREADS={threads}"]
    texts = "\0".join([compiler, *options, kernel, draw, SOURCE.read_text(encoding="utf-8")])
    digest = hashlib.sha256(texts.encode()).hexdigest()[:16]
    library = cache_folder() / "native" / f"sglang-tree-{digest}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(mkdtemp(dir=library.parent))
        try:
            (folder / "kernel.cuh").write_text(kernel, encoding="utf-8")
            (folder / "draw.cuh").write_text(draw, encoding="utf-8")
            command = [compiler, *options, "-I", str(folder), str(SOURCE), "-o", str(folder / "so")]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise Unsupported(f"SGLang's kernel does not compile: {done.stderr[-300:]}")
            (folder / "so").replace(library)
        finally:
            shutil.rmtree(folder)
    function = ctypes.CDLL(str(library)).tree

    def call(*given: Any, deterministic: bool = True) -> None:
        """Call it with its eleven arrays or tensors, the depth, the vocabulary, the thresholds."""
        *arrays, depth, vocabulary, single, accumulated = given
        batch, drafts = arrays[3].shape
        function(
            *(ctypes.c_void_p(address(array)) for array in arrays),
            *map(ctypes.c_uint32, (batch, depth, drafts, vocabulary)),
            ctypes.c_float(single),
            ctypes.c_float(max(accumulated, 1e-9)),
            ctypes.c_bool(deterministic),
        )

    return call


def address(array: Any) -> int:
    """Return where the numbers of an array or a tensor are. Raises ValueError for one with gaps."""
    dense = array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous
    if not dense:
        raise ValueError("the kernel gets a tensor that is not contiguous")
    place: int = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data
    return place


def tree_speculative_sampling_target_only(edits: tuple[Edit, ...] = ()) -> Callable[..., None]:
    """Return what takes the place of SGLang's function of this name, which launches the kernel."""
    kernel = compiled(edits)

    def launch(
        *,
        predicts: Any,
        accept_index: Any,
        accept_token_num: Any,
        candidates: Any,
        retrive_index: Any,
        retrive_next_token: Any,
        retrive_next_sibling: Any,
        uniform_samples: Any,
        uniform_samples_for_final_sampling: Any,
        target_probs: Any,
        draft_probs: Any,
        threshold_single: float = 1.0,
        threshold_acc: float = 1.0,
        deterministic: bool = True,
    ) -> None:
        kernel(
            *(predicts, accept_index, accept_token_num, candidates, retrive_index),
            *(retrive_next_token, retrive_next_sibling, uniform_samples),
            *(uniform_samples_for_final_sampling, target_probs, draft_probs),
            *(accept_index.shape[1], target_probs.shape[2], threshold_single, threshold_acc),
            deterministic=deterministic,
        )

    return launch
