"""MLX LM: a row's token depends on how many rows the batch has.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_batch.py

One row of 50 logits and one seed: alone, and as the first of two and of three that are the same.
Exit status 1 while its tokens differ.
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

row = mx.random.normal((1, 50), key=mx.random.key(3))
sampler = mlx.make_sampler(temp=1.0)
tokens = []
for rows in (1, 2, 3):
    mx.random.seed(4)
    tokens.append(sampler(mx.repeat(row, rows, axis=0)).tolist()[0])
print("seed 4, a row alone and as the first of 2 and of 3: its token")
print(f"  expected {[tokens[0]] * 3}\n  got      {tokens}")
sys.exit(int(len(set(tokens)) > 1))
