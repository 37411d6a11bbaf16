"""LitGPT: speculative decoding at temperature 0 gives tokens that are not the likeliest.

    sampler-parity engines exec litgpt -- python studies/findings/finding_75_greedy.py

Both models answer every token with one row. Stand-ins take the place of lightning and of the files
of litgpt that speculative_decoding does not call.
"""

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

LIGHTNING = ("lightning", "lightning.fabric", "lightning.fabric.plugins")
OTHERS = ("config", "constants", "model", "prompts", "tokenizer", "utils")


def decoding() -> Any:
    package, spec = ModuleType("litgpt"), find_spec("litgpt")
    package.__path__ = [*((spec and spec.submodule_search_locations) or [])]
    sys.modules["litgpt"] = package
    for name in (*LIGHTNING, *(f"litgpt.{other}" for other in OTHERS)):
        sys.modules[name] = MagicMock()
    return importlib.import_module("litgpt.generate.speculative_decoding").speculative_decoding


def main() -> int:
    speculative: Any = decoding()
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(0)

    def model(*p: float) -> Any:
        row = torch.tensor(p).log()
        return lambda idx, **_: row.expand(1, idx.shape[1], len(p))

    draft, target, at = model(0.1, 0.2, 0.7), model(0.6, 0.3, 0.1), torch.tensor([0])
    got = [0, 0, 0]
    for _ in range(1000):
        tokens = speculative(draft, target, at, at.clone(), 1, 1, temperature=0.0)
        got[int(tokens[0])] += 1
    print("1,000 first tokens at temperature 0, the target's p being 0.6, 0.3, 0.1")
    print(f"  expected [1000, 0, 0]\n  got      {got}")
    return int(got != [1000, 0, 0])


if __name__ == "__main__":
    sys.exit(main())
