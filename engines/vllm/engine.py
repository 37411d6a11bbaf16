"""vLLM for its sampler only: the modules, without the packages that serve and load models."""

import importlib
import os
from functools import cache
from types import SimpleNamespace

from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.harness.errors import Unsupported

# Imported by vllm.config, vllm.multimodal and vllm.v1.outputs: models, pictures, servers, grammars.
NOT_CALLED = (
    *("PIL", "aiohttp", "cbor2", "fastapi", "huggingface_hub", "llguidance", "openai"),
    *("openai_harmony", "partial_json_parser", "prometheus_client", "pybase64", "requests"),
    *("safetensors", "tokenizers", "transformers", "uvloop", "xgrammar", "yaml", "zmq"),
)


@cache
def vllm() -> SimpleNamespace:
    """Import vLLM. Raises Unsupported if it is not installed."""
    stand_in_for(NOT_CALLED)
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # ranks are counted without a compiler
    try:
        torch = importlib.import_module("torch")
        package = importlib.import_module("vllm")
        sampler = importlib.import_module("vllm.v1.sample.sampler")
        batch = importlib.import_module("vllm.v1.worker.gpu_input_batch")
        processors = importlib.import_module("vllm.v1.sample.logits_processor")
        filters = importlib.import_module("vllm.v1.sample.ops.topk_topp_sampler")
    except ImportError as error:
        raise Unsupported(f"vLLM does not load: {error}") from None
    torch.set_num_threads(1)
    return SimpleNamespace(
        torch=torch,
        version=f"vllm {package.__version__}, torch {torch.__version__}",
        Refused=importlib.import_module("vllm.exceptions").VLLMError,
        SamplingParams=package.SamplingParams,
        Sampler=sampler.Sampler,
        InputBatch=batch.InputBatch,
        CachedRequestState=batch.CachedRequestState,
        LogitsProcessors=processors.LogitsProcessors,
        processors=processors.BUILTIN_LOGITS_PROCESSORS,
        apply_top_k_top_p=filters.apply_top_k_top_p,
    )
