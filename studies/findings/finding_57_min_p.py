"""SGLang: one request with min-p above 0 fails the whole batch, including the other requests.

    sampler-parity engines exec sglang -- python studies/findings/finding_57_min_p.py

With --enable-deterministic-inference. Sampler, batch and parameters are SGLang's, the rest are
stand-ins. Exit status 1 while there is an error.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any
from unittest.mock import MagicMock

import torch

STAND_INS = """srt.arg_groups.choices srt.constrained.base_grammar_backend srt.layers.dp_attention
    srt.layers.logits_processor srt.layers.logprob_processor srt.managers.schedule_batch utils
    srt.runtime_context srt.sampling.custom_logit_processor srt.utils srt.utils.async_probe
    srt.utils.common kernels.ops.sampling kernels.ops.sampling.murmur_hash"""
NO = """get_bool_env_var is_cuda is_dp_attention_enabled is_gfx1250_supported is_hip is_musa is_npu
    is_pin_memory_available is_xpu"""


def hashed(seed: Any, _positions: Any, columns: Any) -> Any:
    """Replace SGLang's hash, which is compiled and in no package."""
    return torch.randint(2**32, (len(seed), len(columns)))


config = MagicMock()
config.deterministic = MagicMock(enable_deterministic_inference=True, rl_on_policy_target=None)
config.kernel.sampling_backend = "pytorch"
config.features = MagicMock(enable_custom_logit_processor=False, enable_watermark=False)
asked: dict[str, Any] = dict.fromkeys(NO.split(), lambda *_of: False)
asked |= {"get_exec": lambda: config, "ScheduleBatch": MagicMock, "murmur_hash32": hashed}
torch._dynamo.config.disable = True  # no compiler is needed
spec = find_spec("sglang")
assert spec is not None
sys.modules["sglang"] = module_from_spec(spec)  # without what its __init__ imports
sys.modules |= {f"sglang.{name}": MagicMock(**asked) for name in STAND_INS.split()}
sampler = import_module("sglang.srt.layers.sampler")
SamplingParams = import_module("sglang.srt.sampling.sampling_params").SamplingParams


params = [SamplingParams(sampling_seed=7), SamplingParams(sampling_seed=8, min_p=0.1)]
reqs = [MagicMock(sampling_params=of, return_sampling_mask=False) for of in params]
info = sampler.SamplingBatchInfo.from_schedule_batch(MagicMock(reqs=reqs, device="cpu"), 32)
output = MagicMock(next_token_logits=torch.linspace(0, 1, 32).repeat(2, 1))
try:
    tokens = sampler.Sampler()(output, info, False, [], [], torch.zeros(2)).tolist()
    got = f"tokens {tokens}"
except AssertionError as error:
    got = f"AssertionError: {error}"
print("a batch of two requests with seeds, one of them with min_p 0.1")
print(f"  expected two tokens\n  got      {got}")
sys.exit(int(got.startswith("AssertionError")))
