"""Load SGLang's verifiers of drafts, without the rest of SGLang.

FILES are executed from the installed wheel, each after the edits of its text. Every other module of
SGLang is a stand-in with the few names of `_given`, or with classes that do nothing. Triton's
kernels run in its interpreter, the kernel for CUDA on threads that take turns (tree.py).
"""

import importlib
import os
from contextlib import nullcontext
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.sglang.tree import tree_speculative_sampling_target_only
from sampler_parity.engines.shared.triton_files import Edit, Files, patched_once, root_of
from sampler_parity.harness.errors import Unsupported

_SPECULATIVE = "sglang.kernels.ops.speculative."
CHAIN = _SPECULATIVE + "reject_sampling"
ACCEPT = _SPECULATIVE + "dspark.dspark_accept"
TREE = "sglang.srt.speculative.dflash_utils"
FILES = (CHAIN, ACCEPT, TREE, _SPECULATIVE + "dspark.dispatch")


def _given(edits: tuple[Edit, ...]) -> dict[str, dict[str, Any]]:
    never = {"is_npu": lambda: False}
    return {
        "sglang.srt.utils": never,
        # None where a platform has no kernel of its own: SGLang's PyTorch then filters.
        "sglang.kernels.ops.sampling.renorm": {
            "top_k_renorm_prob": None,
            "top_p_renorm_prob": None,
        },
        "sglang.srt.layers.sampler": {"top_p_normalize_probs_torch": _top_p},
        _SPECULATIVE + "verify_sampling": {
            "tree_speculative_sampling_target_only": tree_speculative_sampling_target_only(edits)
        },
        "sglang.srt.model_executor.runner_utils.pool": {
            "borrow_graph_pool": lambda **_: nullcontext()
        },
    }


def _top_p(probs: Any, top_ps: Any) -> Any:
    """Call SGLang's own function, from the text of its sampler."""
    text = (root_of("sglang") / "srt/layers/sampler.py").read_text(encoding="utf-8")
    start = text.index("def top_p_normalize_probs_torch(")
    names: dict[str, Any] = {"torch": importlib.import_module("torch")}
    exec(text[start : text.index("\n\n\n", start)], names)
    return names["top_p_normalize_probs_torch"](probs, top_ps)


@cache
def kernels(edits: tuple[Edit, ...] = ()) -> SimpleNamespace:
    """Load the verifiers with edits of their text; those of the module `sampling.cuh` are of the
    kernel for CUDA. Raises Unsupported if a package is missing."""
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # the same softmax and sort on every CPU
    root_of("sglang")
    root_of("flashinfer")
    try:
        torch: Any = importlib.import_module("torch")
        patched_once(importlib.import_module("triton.runtime.interpreter"))
        triton: Any = importlib.import_module("triton")
        cuda = tuple(edit for edit in edits if edit.module == "sampling.cuh")
        others = [edit for edit in edits if edit.module != "sampling.cuh"]
        Files("sglang", FILES, others, _given(cuda)).enter()
        accept, tree = importlib.import_module(ACCEPT), importlib.import_module(TREE)
    except ImportError as error:
        raise Unsupported(f"SGLang's verifiers do not load: {error}") from None
    torch.set_num_threads(1)
    versions = ", ".join(f"{name} {version(name)}" for name in ("sglang", "flashinfer-python"))
    return SimpleNamespace(
        torch=torch,
        version=f"{versions}, triton {triton.__version__} (interpreter)",
        accept_sampling=accept.accept_sampling_triton,
        tree_sampling=tree.compute_dflash_sampling_correct_drafts_and_bonus,
    )
