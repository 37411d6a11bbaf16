"""lmdeploy: without top-k, draws of the tail give the most likely token. Triton's interpreter.

    sampler-parity engines exec lmdeploy -- python studies/findings/finding_68_gaps.py

The file of the kernel is read from the package. Its grid becomes a tuple, which the interpreter
needs. The seeds are the first six whose random number falls into the least likely 0.01 %.
"""

import importlib.util
import linecache
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
N, SEEDS, POSITION, TAIL = 151_936, 400_000, 7, 1e-4
NUMBERS = """

@triton.jit
def numbers(Out, offset, N: tl.constexpr):
    seeds = tl.arange(0, N)
    tl.store(Out + seeds, tl.rand(seeds, offset))
"""


def kernels() -> dict[str, Any]:
    spec: Any = importlib.util.find_spec("lmdeploy")
    root = Path(spec.submodule_search_locations[0])
    text = (root / "pytorch/kernels/cuda/multinomial_sampling.py").read_text() + NUMBERS
    text = text.replace("grid = [batch_size]", "grid = (batch_size,)")
    linecache.cache["<kernel>"] = (len(text), None, text.splitlines(keepends=True), "<kernel>")
    module: dict[str, Any] = {"__name__": "kernel"}
    exec(compile(text, "<kernel>", "exec"), module)
    return module


def main() -> int:
    import torch

    module = kernels()
    logits = 2 * torch.randn(N, generator=torch.Generator().manual_seed(0))
    p = logits.sort(descending=True).values.softmax(0)
    u = torch.empty(1 << 19)
    module["numbers"][(1,)](u, POSITION, N=1 << 19)
    seeds = (u[:SEEDS] > 1 - TAIL).nonzero()[:6, 0]
    at = torch.full_like(seeds, POSITION)
    ranks = module["multinomial_sampling"](p.expand(len(seeds), N), seeds, at)
    exact = p.double().cumsum(0)
    expected = torch.searchsorted(exact / exact[-1], u[seeds].double())
    print(f"{N} normal logits of width 2, {len(seeds)} draws: rank of the token, 0 the most likely")
    print(f"  expected {expected.tolist()}\n  got      {ranks.tolist()}")
    return int((ranks == 0).any())


if __name__ == "__main__":
    sys.exit(main())
