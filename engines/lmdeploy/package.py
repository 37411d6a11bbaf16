"""Load the files of lmdeploy's sampler for Triton's interpreter, without the rest of lmdeploy.

The modules of SAMPLER are executed from the installed wheel, each after the edits of its text.
Every other module of lmdeploy is a stand-in with the few names of `_given`, or with classes that do
nothing.
"""

import importlib
import os
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.shared.triton_files import Edit, Files, patched_once, root_of
from sampler_parity.harness.errors import Unsupported

_PT = "lmdeploy.pytorch."
SAMPLER = (
    "lmdeploy.messages",
    *(_PT + name for name in ("envs", "messages", "engine.logits_process")),
    *(_PT + "backends." + name for name in ("multinomial_sampling", "rejection_sampling")),
    *(_PT + "kernels.cuda." + name for name in ("multinomial_sampling", "rejection_sampling")),
    *(_PT + "backends.cuda." + name for name in ("multinomial_sampling", "rejection_sampling")),
    _PT + "nn.multinomial_sampling",
    _PT + "spec_decode.reject_sampler",
    *(_PT + "strategies." + name for name in ("base.sampling", "ar.sampling")),
)
_LOGITS, _KERNEL = "engine.logits_process", "kernels.cuda.multinomial_sampling"
AGENT = _PT + "spec_decode.spec_agent"
EDITS = (
    # The interpreter takes a tuple where Triton's launcher takes a list, too.
    Edit(_KERNEL, "grid = [batch_size]", "grid = (batch_size, )"),
    # The candidates behind the filters, for the stages that show them. They change no result.
    Edit(
        _LOGITS,
        "            softmax_scores = scores.softmax(1)\n",
        "            softmax_scores = scores.softmax(1)\n"
        "            self.shown = scores, indices, softmax_scores\n",
    ),
)
# A token that stands in for the tokens that a shorter row lacks; 0, if a model has no BOS.
PAD = 0


def _given() -> dict[str, dict[str, Any]]:
    levels = ("debug", "info", "warning", "error")
    log = SimpleNamespace(**{level: lambda *_: None for level in levels})
    made: dict[str, Any] = {}

    def backend(*_: Any) -> Any:
        """Return the backend of CUDA: Triton's kernels."""
        return SimpleNamespace(build_op=lambda spec: made[type(spec).__name__]())

    return {
        "lmdeploy.utils": {"get_logger": lambda *_: log},
        _PT + "backends": {"get_backend": backend, "made": made},
        _PT + "backends.base": {"BuildSpec": _Spec},
    }


class _Spec:
    """BuildSpec[...] is a class without fields."""

    def __class_getitem__(cls, _item: object) -> type["_Spec"]:
        return cls


@cache
def lmdeploy(edits: tuple[Edit, ...] = (), more: tuple[str, ...] = ()) -> SimpleNamespace:
    """Load the sampler with further edits of its text. Raises Unsupported if a package is missing.

    more: further files.

    The modules have the last part of their names; `kernel` and `rejection` are those with kernels.
    """
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # the same softmax and sort on every CPU
    root_of("lmdeploy")
    try:
        torch = importlib.import_module("torch")
        patched_once(importlib.import_module("triton.runtime.interpreter"))
        Files("lmdeploy", (*SAMPLER, *more), (*EDITS, *edits), _given()).enter()
        kernel = importlib.import_module(_PT + _KERNEL)
        package = importlib.import_module(_PT + "kernels.cuda")
        vars(package)["multinomial_sampling"] = kernel.multinomial_sampling
        modules = {name: importlib.import_module(name) for name in (*SAMPLER, *more)}
    except ImportError as error:
        raise Unsupported(f"lmdeploy's sampler does not load: {error}") from None
    torch.set_num_threads(1)
    rejection = modules[_PT + "backends.cuda.rejection_sampling"].CudaRejectionSamplingImpl
    multinomial = modules[_PT + "backends.cuda.multinomial_sampling"].TritonMultinomialSamplingImpl
    made = importlib.import_module(_PT + "backends").made
    made |= {
        "MultinomialSamplingBuildSpec": multinomial,
        "RejectionSamplingBuildSpec": rejection,
    }
    triton = importlib.import_module("triton")
    return SimpleNamespace(
        torch=torch,
        version=f"lmdeploy {version('lmdeploy')}, triton {triton.__version__} (interpreter)",
        GenerationConfig=modules["lmdeploy.messages"].GenerationConfig,
        SamplingParam=modules[_PT + "messages"].SamplingParam,
        FusedLogitsProcessor=modules[_PT + _LOGITS].FusedLogitsProcessor,
        strategy=modules[_PT + "strategies.ar.sampling"].ARSamplingStrategy(PAD),
        RejectionSampler=modules[_PT + "spec_decode.reject_sampler"].RejectionSampler,
        Inputs=modules[_PT + _LOGITS].SamplingInputs,
        kernel=kernel,
        rejection=modules[_PT + "kernels.cuda.rejection_sampling"],
        agent=modules.get(AGENT),
    )
