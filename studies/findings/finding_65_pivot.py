"""vLLM: top-p 0.9 on logits in steps of 1. Triton's interpreter, no GPU.

    sampler-parity engines exec vllm_gpu -- python studies/findings/finding_65_pivot.py

The file of vLLM's kernels is read from the package; what it imports of vLLM is a mock. The kernels
are those of a GPU for batches of up to 64 rows without top-k.
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
N, P, LAST = 200, 0.9, 4  # the last of the rounds of a search


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
    import numpy as np
    import torch

    module = kernels()
    rows = np.round(np.random.default_rng(0).normal(0, 2, (60, N)))
    row = torch.tensor(rows[57:58].astype(np.float32))
    share = row[0].double().softmax(0)
    stats, parts, p = torch.empty(4), torch.empty(5 * 8 * 3), torch.tensor([P])
    module["_topp_sb_stats_kernel"][(1,)](row, N, stats, row, p, False, N, 1, 8192)
    for step in range(LAST + 1):
        options = (False, 1, 8, LAST + 1, N, 2048)
        module["_topp_sb_step_kernel"][(1,)](row, N, stats, parts, row, p, step, *options)
    mask = (False, -float("inf"), 1, 8, LAST + 1, N, 8192)
    module["_topp_sb_mask_kernel"][(1,)](row, N, stats, parts, row, p, *mask)
    mass = float(share[row[0].isfinite()].sum())
    print(f"{N} logits from -6 to 6 in steps of 1, top_p {P}: the mass that stays")
    print(f"  expected {P} or more\n  got      {mass:.4f}, in {int(row.isfinite().sum())} tokens")
    return int(mass < P - 1e-4)


if __name__ == "__main__":
    sys.exit(main())
