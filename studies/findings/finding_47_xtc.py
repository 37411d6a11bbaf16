"""MLX LM: all rows of a batch share XTC's coin.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_xtc.py

XTC with probability 1/2, next to greedy, on 8 rows of p 0.8, 0.2: where it acts a row's token is 1,
elsewhere 0. Exit status 1 while at more than 20 of 200 steps all 8 tokens are equal.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

package = find_spec("mlx_lm")  # found, not imported: it would load transformers
assert package is not None
sys.path += package.submodule_search_locations or []
mx: Any = import_module("mlx.core")
mlx: Any = import_module("sample_utils")
mx.disable_compile()  # no bit changes, and no C++ compiler runs

ROWS, STEPS = 8, 200

logprobs = mx.log(mx.array([[0.8, 0.2]] * ROWS))
sampler = mlx.make_sampler(temp=1e-4, xtc_probability=0.5, xtc_threshold=0.1)
mx.random.seed(1)
together = sum(len(set(sampler(logprobs).tolist())) == 1 for _ in range(STEPS))
print(f"{STEPS} steps of {ROWS} rows: at how many XTC acts on all rows or on none")
print(f"  expected about {STEPS * 2 / 2**ROWS:.1f}, rows apart\n  got      {together}")
sys.exit(int(together > 20))
