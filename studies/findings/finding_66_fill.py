"""lmdeploy: a ban and a penalty next to a request with longer lists. No GPU.

    sampler-parity engines exec lmdeploy -- python studies/findings/finding_66_fill.py

Its files are read from the package; what they import of the rest of lmdeploy is a mock."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

PT = "lmdeploy.pytorch."
OTHERS = ("messages", "engine.guided_process", "strategies.base.sampling")
MOCKS = ["lmdeploy.messages", "lmdeploy.pytorch", *(PT + name for name in OTHERS)]
ZERO = ("repetition_ngram_size", "repetition_ngram_threshold", "top_k", "min_new_tokens", "min_p")
OFF: dict[str, Any] = dict.fromkeys(ZERO, 0) | dict.fromkeys(("response_format", "ignore_eos"))
OFF |= {"temperature": 1.0, "repetition_penalty": 1.0, "top_p": 1.0, "random_seed": 1}
OFF |= {"bad_words": [], "stop_words": [], "num_logprobs": -1, "logits_processors": None}


def module(root: str, name: str) -> Any:
    made = sys.modules[name] = ModuleType(name)
    vars(made)["__package__"] = name.rpartition(".")[0]
    exec(Path(root, *name.split(".")[1:]).with_suffix(".py").read_text(), vars(made))
    return made


def request(output: list[int], **given: Any) -> Any:
    from numpy import array, int64

    ids = {"generated_ids": array(output, int64), "num_new_tokens": len(output)}
    return MagicMock(sampling_param=SimpleNamespace(**OFF | given), num_valid_ids=9, **ids)


def main() -> int:
    import torch

    spec: Any = importlib.util.find_spec("lmdeploy")
    sys.modules |= {name: MagicMock(SamplingStrategy=object) for name in MOCKS}
    root = spec.submodule_search_locations[0]
    logits = module(root, PT + "engine.logits_process")
    strategy = module(root, PT + "strategies.ar.sampling").ARSamplingStrategy(None)
    bans = [request([], bad_words=of) for of in ([0], [1, 2, 3])]
    texts = [request(of, repetition_penalty=2.0) for of in ([3], [4, 5, 3])]
    got: list[Any] = []
    for what, rows in (("token 0 is banned", bans), ("token 3 was generated", texts)):
        for batch in (rows[:1], rows):
            inputs = strategy.make_sampling_inputs(batch).to_device("cpu")
            process = logits.FusedLogitsProcessor(inputs)(torch.ones(len(batch), 6))
            got.append(asyncio.run(process)[0][0].tolist())
        print(f"{what}, logits of 1\n  expected {got[-2]}, as alone\n  got      {got[-1]}")
    return int(got[::2] != got[1::2])


if __name__ == "__main__":
    sys.exit(main())
