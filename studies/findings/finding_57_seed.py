"""SGLang: a request's sampling_seed is ignored without a warning, unless the server has an option.

    sampler-parity engines exec sglang -- python studies/findings/finding_57_seed.py

The option is --enable-deterministic-inference. Sampler, batch and parameters are SGLang's, the rest
are stand-ins. Exit status 1 while texts differ.
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


def hashed(seed: Any, positions: Any, columns: Any) -> Any:
    """Replace SGLang's hash, which is compiled and in no package: any numbers will do."""
    rows = [int(one) * 1000 + int(at) for one, at in zip(seed.long(), positions, strict=True)]
    random = [torch.Generator().manual_seed(row) for row in rows]
    return torch.stack([torch.randint(2**32, columns.shape, generator=of) for of in random])


config = MagicMock()
config.deterministic = MagicMock(enable_deterministic_inference=False, rl_on_policy_target=None)
config.kernel.sampling_backend = "pytorch"
config.features = MagicMock(enable_custom_logit_processor=False, enable_watermark=False)
asked: dict[str, Any] = dict.fromkeys(NO.split(), lambda *_of: False)
asked |= {"get_exec": lambda: config, "ScheduleBatch": MagicMock, "murmur_hash32": hashed}
asked["softmax"] = torch.nn.Softmax(-1)
torch._dynamo.config.disable = True  # no compiler is needed
spec = find_spec("sglang")
assert spec is not None
sys.modules["sglang"] = module_from_spec(spec)  # without what its __init__ imports
sys.modules |= {f"sglang.{name}": MagicMock(**asked) for name in STAND_INS.split()}
sampler = import_module("sglang.srt.layers.sampler")
SamplingParams = import_module("sglang.srt.sampling.sampling_params").SamplingParams


def token(position: int) -> int:
    req = MagicMock(sampling_params=SamplingParams(sampling_seed=7), return_sampling_mask=False)
    info = sampler.SamplingBatchInfo.from_schedule_batch(MagicMock(reqs=[req], device="cpu"), 32)
    output = MagicMock(next_token_logits=torch.linspace(0, 1, 32)[None])
    return int(sampler.Sampler()(output, info, False, [], [], torch.tensor([position])))


texts = {tuple(token(position) for position in range(8)) for _ in range(4)}
print("tokens of seed 7 at 8 positions, four times, without the server's option")
print(f"  expected one text\n  got      {len(texts)} texts")
sys.exit(int(len(texts) > 1))
