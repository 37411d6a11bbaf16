"""KerasHub: a batch of two texts in SpeculativeSampler with a base sampler; the first tokens.

    sampler-parity engines exec keras_hub -- python studies/findings/finding_69_batch.py

The draft of text 0 is accepted with 0.9, that of text 1 never. Modules that Keras imports and no
sampler calls are mocks, and so are KerasHub's models.
"""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from typing import Any
from unittest.mock import MagicMock

ABSENT = {"absl", "h5py", "jax", "rich", "scipy", "tensorflow", "tensorflow_text", "torch"}


class Mocks:
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        absent = name.split(".")[0] in ABSENT or name.startswith("keras_hub.src.models")
        return ModuleSpec(name, self, is_package=True) if absent else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Any:
        return MagicMock(__path__=[], __spec__=spec, Gemma4CausalLM=type("Gemma4", (), {}))

    def exec_module(self, module: Any) -> None:
        pass


def main() -> int:
    os.environ["KERAS_BACKEND"] = "numpy"
    sys.meta_path.insert(0, Mocks())
    spec: Any = importlib.util.find_spec("keras_hub")
    package = sys.modules["keras_hub"] = importlib.util.module_from_spec(spec)
    package.__path__ = list(spec.submodule_search_locations)
    made: Any = importlib.import_module("keras_hub.src.samplers.serialization")
    import numpy as np

    np.seterr(divide="ignore")
    p = np.array([[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]], np.float32)  # of text 0 and text 1
    q = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], np.float32)  # both drafts are token 0

    def rows(of: Any) -> Any:
        return lambda prompt, cache, index: (np.log(of), None, cache)

    first = []
    base = made.RandomSampler(seed=1)
    sampler = made.SpeculativeSampler(num_speculative_tokens=1, base_sampler=base, seed=3)
    for _ in range(1000):
        text = sampler(rows(p), np.zeros((2, 1), np.int32), index=0, draft_next=rows(q))
        first.append(int(text[0, 0]))
    shares = np.bincount(first, minlength=3) / 1000
    print("first token of text 0 with p = 0.9, 0.1, 0, next to a text whose draft is rejected")
    print(f"  expected [0.9, 0.1, 0.0]\n  got      {shares.round(3).tolist()}")
    return int(abs(shares - p[0]).max() > 0.05)


if __name__ == "__main__":
    sys.exit(main())
