"""vLLM: a bias of -inf becomes -100, so a token whose logit is 100 above the rest is not banned.

    sampler-parity engines exec vllm -- python studies/findings/finding_53_bias.py

SamplingParams is vLLM's, its file's other imports are stand-ins. Exit status 1 while the
bias is another than the one that was given.
"""

import math
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from unittest.mock import MagicMock

spec = find_spec("vllm")
assert spec is not None
sys.modules["vllm"] = module_from_spec(spec)  # without what its __init__ imports
for name in ("config", "logger", "tokenizers", "utils.torch_utils"):
    sys.modules[f"vllm.{name}"] = MagicMock()
sys.modules["vllm.v1.serial_utils"] = MagicMock(PydanticMsgspecMixin=type("Mixin", (), {}))
SamplingParams = import_module("vllm.sampling_params").SamplingParams

expected = {3: -math.inf}
got = SamplingParams.from_optional(logit_bias=expected).logit_bias
print(f"logit_bias of -inf for token 3\n  expected {expected}\n  got      {got}")
sys.exit(int(got != expected))
