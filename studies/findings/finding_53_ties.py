"""vLLM: the row's length decides which of equal tokens top-p keeps.

    sampler-parity engines exec vllm -- python studies/findings/finding_53_ties.py

It sorts with torch's sort, which is not stable. The function is taken out of vLLM's own file, so
that none of the rest is imported. The last of 20 equal tokens are expected, as of 16. Exit status 1
while others stay.
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
source = (Path(spec.origin).parent / "v1/sample/ops/topk_topp_sampler.py").read_text()
wanted = "apply_top_k_top_p_pytorch"  # what a CPU runs
(function,) = (node for node in ast.parse(source).body if getattr(node, "name", None) == wanted)
names: dict[str, Any] = {"torch": torch}
exec(compile(ast.Module([function], []), "topk_topp_sampler.py", "exec"), names)

differ = 0
for n in (16, 20):
    left = names[wanted](torch.zeros(1, n), None, torch.tensor([0.5]), allow_cpu_sync=True)[0]
    got = (left == 0).nonzero()[:, 0].tolist()
    expected = list(range(n // 2, n))
    print(f"top_p 0.5 of {n} equal tokens\n  expected {expected}\n  got      {got}")
    differ += got != expected
sys.exit(int(differ > 0))
