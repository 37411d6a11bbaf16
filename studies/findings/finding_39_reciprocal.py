"""vLLM's repetition penalty on a CPU is a product with a reciprocal: the last digit differs.

    pip install vllm
    python finding_39_reciprocal.py

The CUDA kernel, transformers and llama.cpp divide. The function is taken out of vLLM's own file, so
that none of the rest is imported. Exit status 1 while some quotient differs.
"""

import ast
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

spec = find_spec("vllm")  # found, not imported
assert spec is not None
assert spec.origin is not None
source = (Path(spec.origin).parent / "_custom_ops.py").read_text()
wanted = "apply_repetition_penalties_torch"
(function,) = (node for node in ast.parse(source).body if getattr(node, "name", None) == wanted)
names: dict[str, Any] = {"torch": torch}
exec(compile(ast.Module([function], []), "_custom_ops.py", "exec"), names)

differ = 0
for penalty in (1.1, 1.17, 2.0):
    logits = torch.randn(1, 100_000, generator=torch.Generator().manual_seed(0)).abs()
    divided, came = logits / penalty, torch.ones(1, 100_000, dtype=torch.bool)
    names[wanted](logits, came, came, torch.tensor([penalty]))
    other = int((logits != divided).sum())
    print(f"repetition penalty {penalty} on 100,000 positive logits: how many are no quotient")
    print(f"  expected 0\n  got      {other}")
    differ += other
sys.exit(int(differ > 0))
