"""ExLlamaV3 for its sampling steps only: no generator, no tokenizer, and a stand-in for its
extension, which is compiled for CUDA."""

import importlib
import os
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.harness.errors import Unsupported


@cache
def exllamav3() -> SimpleNamespace:
    """Import torch, the steps and the samplers made of them. Raises Unsupported if not
    installed."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # the same softmax and sort on every CPU
    os.environ["EXL3_FUSED_SAMPLER"] = "0"  # needs its extension
    stand_in_for(["exllamav3.ext", "exllamav3.tokenizer"])
    try:
        spec = find_spec("exllamav3")
        folder = next(iter((spec and spec.submodule_search_locations) or []), "")
        for name in ("exllamav3", "exllamav3.generator"):  # without what their __init__ load
            package = ModuleType(name)
            package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
            sys.modules[name] = package
        torch = importlib.import_module("torch")
        steps = importlib.import_module("exllamav3.generator.sampler.custom")
        presets = importlib.import_module("exllamav3.generator.sampler.presets")
    except ImportError as error:
        raise Unsupported(f"ExLlamaV3 does not load: {error}") from None
    torch.set_num_threads(1)
    versions = f"exllamav3 {version('exllamav3')}, torch {torch.__version__}"
    return SimpleNamespace(torch=torch, steps=steps, presets=presets, version=versions)
