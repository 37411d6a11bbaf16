"""vLLM: a seed may have 63 bits, and torch's generator takes the lower 32 of them.

    sampler-parity engines exec vllm -- python studies/findings/finding_53_seeds.py

A request's generator is torch.Generator().manual_seed of its seed (v1/worker/gpu_model_runner.py).
SamplingParams is vLLM's, its file's other imports are stand-ins. Exit status 1 while two
seeds draw the same numbers.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from unittest.mock import MagicMock

import torch

spec = find_spec("vllm")
assert spec is not None
sys.modules["vllm"] = module_from_spec(spec)  # without what its __init__ imports
for name in ("config", "logger", "tokenizers", "utils.torch_utils"):
    sys.modules[f"vllm.{name}"] = MagicMock()
sys.modules["vllm.v1.serial_utils"] = MagicMock(PydanticMsgspecMixin=type("Mixin", (), {}))
SamplingParams = import_module("vllm.sampling_params").SamplingParams

drawn = []
for seed in (1, 2**32 + 1):
    asked = SamplingParams(seed=seed)
    generator = torch.Generator().manual_seed(asked.seed)
    drawn.append(int(torch.randint(0, 2**31, (1,), generator=generator)))
print("the first numbers of the seeds 1 and 4294967297")
print(f"  expected two that differ\n  got      {drawn[0]} and {drawn[1]}")
sys.exit(int(drawn[0] == drawn[1]))
