"""MLX LM: a repetition penalty whose context size is 0 takes the whole text.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_window.py

tokens[-0:] is all of them. Exit status 1 while the penalty changes a logit.
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

(penalty,) = mlx.make_logits_processors(repetition_penalty=2.0, repetition_context_size=0)
got = penalty(mx.array([0]), mx.array([[4.0, 3.0]]))[0].tolist()
print("repetition penalty 2 with a context size of 0, logits 4, 3 behind token 0")
print(f"  expected [4.0, 3.0]\n  got      {got}")
sys.exit(int(got != [4.0, 3.0]))
