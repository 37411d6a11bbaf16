"""MLX LM: where a token stands in the vocabulary decides whether it is drawn.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_draws.py

One likely token, and 131,071 that are 16.7 nats below it and have 0.7% of the mass together. Behind
the likely one each adds nothing to a running sum in float32, and none is drawn. Exit status 1 while
it is so.
"""

import math
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

N, DRAWS = 131_072, 3_000

weight = (N - 1) * math.exp(-16.7)
sampler = mlx.make_sampler(temp=1.0)
drawn = []
for likely in (N - 1, 0):
    logits = mx.where(mx.arange(N) == likely, 16.7, 0.0)[None]
    logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    mx.random.seed(1)
    drawn.append(sum(sampler(logprobs).item() != likely for _ in range(DRAWS)))
print(f"how many of {DRAWS} draws are of the unlikely tokens, the likely one last, and first")
print(f"  expected about {DRAWS * weight / (1 + weight):.1f}, wherever it stands")
print(f"  got      {drawn[0]} and {drawn[1]}")
sys.exit(int(0 in drawn))
