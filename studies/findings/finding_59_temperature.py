"""ExLlamaV3: which token temperature 0 and an argmax select, as steps of a CustomSampler.

    sampler-parity engines exec exllamav3 -- python studies/findings/finding_59_temperature.py

Its extension is compiled for CUDA: an empty module stands for it, and nothing here calls it.
"""

import importlib
import importlib.util
import os
import sys
import types
from typing import Any


def main() -> int:
    os.environ["EXL3_FUSED_SAMPLER"] = "0"  # needs the extension; it leaves temperature 0 out
    folder = next(iter(importlib.util.find_spec("exllamav3").submodule_search_locations))  # type: ignore[union-attr,arg-type]
    for name in ("exllamav3", "exllamav3.generator"):
        package: Any = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
        sys.modules[name] = package
    for name, holds in (("ext", "exllamav3_ext"), ("tokenizer", "Tokenizer")):
        absent: Any = types.ModuleType(f"exllamav3.{name}")
        setattr(absent, holds, type(holds, (), {}))
        sys.modules[absent.__name__] = absent
    steps: Any = importlib.import_module("exllamav3.generator.sampler.custom")
    import torch

    sampler = steps.CustomSampler([steps.SS_Temperature(0.0), steps.SS_Argmax()])
    token = int(sampler.forward(torch.tensor([[1.0, 2.0, 3.0, 0.0]]), rand_u32=0))
    print(f"temperature 0, then argmax, of logits 1, 2, 3, 0\n  expected 2\n  got      {token}")
    return int(token != 2)


if __name__ == "__main__":
    sys.exit(main())
