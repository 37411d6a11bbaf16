"""vLLM: a temperature of 1e-6 is raised to 0.01 in front of the sampler, which would be greedy.

    sampler-parity engines exec vllm -- python studies/findings/finding_53_temperature.py

Under 1e-5 a request counts as greedy, and none can ask for that but with 0. SamplingParams is
vLLM's, its file's other imports are stand-ins. Exit status 1 while 1e-6 draws.
"""

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

asked = SamplingParams(temperature=1e-6)
print("a request with temperature 1e-6")
print(f"  expected GREEDY\n  got      {asked.sampling_type.name}, temperature {asked.temperature}")
sys.exit(int(asked.sampling_type.name != "GREEDY"))
