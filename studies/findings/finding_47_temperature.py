"""MLX LM: below a temperature of 0 the token that top_k removed is drawn.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_temperature.py

Its logit is -inf, and -inf times -1 is +inf. Exit status 1 while it is drawn.
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

logprobs = mx.log(mx.array([[0.9, 0.1]]))
print("temperature -1 and top_k 1 on p 0.9, 0.1: eight tokens")
print("  expected 0, which alone is left, or a refusal")
try:
    sampler = mlx.make_sampler(temp=-1.0, top_k=1)
    drawn = [sampler(logprobs).item() for _ in range(8)]
except ValueError as error:
    print(f"  got      {error}")
    sys.exit(0)
print(f"  got      {drawn}")
sys.exit(int(any(drawn)))
