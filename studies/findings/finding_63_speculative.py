"""KerasHub: the draws of SpeculativeSampler with a base sampler from a draft that is its target.

    sampler-parity engines exec keras_hub -- python studies/findings/finding_63_speculative.py

Modules that Keras imports and no sampler calls are mocks, and so are KerasHub's models.
"""

import importlib
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

    p = np.array([0.5, 0.3, 0.2], np.float32)

    def model(prompt: Any, cache: Any, index: Any) -> tuple[Any, None, Any]:
        return np.log(p)[None], None, cache

    base = made.RandomSampler(seed=1)
    sampler = made.SpeculativeSampler(num_speculative_tokens=2, base_sampler=base, seed=3)
    text = sampler(model, np.zeros((1, 3000), np.int32), index=0, draft_next=model)
    shares = np.bincount(text[0], minlength=3) / 3000
    print("shares of 3 tokens in a text of 3,000, the draft having the p of the target")
    print(f"  expected [0.5, 0.3, 0.2]\n  got      {shares.round(3).tolist()}")
    return int(abs(shares - p).max() > 0.05)


if __name__ == "__main__":
    sys.exit(main())
