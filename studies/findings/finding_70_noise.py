"""KerasHub: tokens of probability 0 that SpeculativeSampler with a base sampler draws.

    sampler-parity engines exec keras_hub -- python studies/findings/finding_70_noise.py

Target and draft allow token 0 alone of 128,256. Modules that Keras imports and no sampler calls are
mocks, and so are KerasHub's models.
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

    np.seterr(all="ignore")
    logits = np.full((1, 128_256), -np.inf, np.float32)
    logits[0, 0] = 0

    def model(prompt: Any, cache: Any, index: Any) -> tuple[Any, None, Any]:
        return logits, None, cache

    base = made.RandomSampler(seed=1)
    sampler = made.SpeculativeSampler(num_speculative_tokens=1, base_sampler=base, seed=3)
    text = sampler(model, np.zeros((1, 2000), np.int32), index=0, draft_next=model)
    other = int((text[0] != 0).sum())
    print("tokens of probability 0 in 1,000 rounds of two tokens, token 0 alone being possible")
    print(f"  expected 0\n  got      {other}")
    return int(other > 0)


if __name__ == "__main__":
    sys.exit(main())
