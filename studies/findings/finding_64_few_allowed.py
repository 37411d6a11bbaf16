"""vLLM: top-k 40 and top-p 0.95 on a row with two allowed tokens. Triton's interpreter, no GPU.

    sampler-parity engines exec vllm_gpu -- python studies/findings/finding_64_few_allowed.py

The file of vLLM's kernel is read from the package; what it imports of vLLM is a mock. One cast of a
row's number is left out, which the interpreter lacks. The block sizes are those for a GPU.
"""

import importlib.util
import linecache
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

os.environ["TRITON_INTERPRET"] = "1"
MOCKS = ["", ".platforms", ".triton_utils", ".utils", ".model_executor", ".model_executor.warmup"]
MOCKS += [".utils.gpu_sync_debug", ".utils.math_utils", ".utils.platform_utils"]
MOCKS += [".model_executor.warmup.jit_warmup", ".model_executor.warmup.jit_warmup_triton_helper"]
N, K, P = 2000, 40, 0.95


def kernels() -> dict[str, Any]:
    import triton

    spec: Any = importlib.util.find_spec("vllm")
    file = Path(spec.submodule_search_locations[0]) / "v1/sample/ops/topk_topp_triton.py"
    text = file.read_text().replace("row_id.to(tl.int64)", "row_id")
    sys.modules |= {f"vllm{of}": MagicMock(triton=triton, tl=triton.language) for of in MOCKS}
    linecache.cache["<kernel>"] = (len(text), None, text.splitlines(keepends=True), "<kernel>")
    module: dict[str, Any] = {"__name__": "kernel"}
    exec(compile(text, "<kernel>", "exec"), module)
    return module


def main() -> int:
    import torch

    module = kernels()
    names = ("_PERCENTILE_TO_STD_TABLE", "_NORMAL_CDF_TO_SIGMA_TABLE")
    tables = [torch.tensor(module[name]) for name in names]
    row = torch.full((1, N), -torch.inf)
    row[0, :2] = torch.tensor([1.0, 0.0])
    expected = row[0, :2].softmax(0).tolist()
    k, p = torch.tensor([K], dtype=torch.int32), torch.tensor([P])
    options = (N, -float("inf"), 8192, 4096, True, True, True)
    module["_topk_topp_kernel"][(1,)](row, N, torch.empty(1, N), *tables, k, p, 1, *options)
    got = row[0, :2].softmax(0).tolist()
    print(f"logits 1, 0 and {N - 2} times -inf, top_k {K}, top_p {P}: p of the first two")
    print(f"  expected {expected}\n  got      {got}")
    return int(got[1] == 0)


if __name__ == "__main__":
    sys.exit(main())
