"""lmdeploy: repetition_ngram_size ends texts that repeat nothing, and a batch. No GPU.

    sampler-parity engines exec lmdeploy -- python studies/findings/finding_67_ngram.py

The functions are read from the package; what their file imports of lmdeploy is a mock.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

PT = "lmdeploy.pytorch."
MOCKS = ("lmdeploy.messages", "lmdeploy.pytorch", PT + "messages", PT + "engine.guided_process")
STOP = 9
TEXTS = {
    "100007 100001 5 100001 100007": [100007, 100001, 5, 100001, 100007],
    "60000 61000 5 61000 60000": [60000, 61000, 5, 61000, 60000],
    "290 291 5 291 290": [290, 291, 5, 291, 290],
}


def functions() -> dict[str, Any]:
    spec: Any = importlib.util.find_spec("lmdeploy")
    file = Path(spec.submodule_search_locations[0]) / "pytorch/engine/logits_process.py"
    sys.modules |= {name: MagicMock() for name in MOCKS}
    name = PT + "engine.logits_process"
    made = sys.modules[name] = ModuleType(name)
    made.__package__ = PT + "engine"
    exec(file.read_text(), vars(made))
    return vars(made)


def main() -> int:
    import torch

    end = functions()["_filter_repetition_ngram_"]
    wrong = 0
    for what, text in TEXTS.items():
        scores, stop = torch.zeros(1, 150_000), torch.tensor([[STOP]])
        end(scores, stop, torch.tensor([text]), None, torch.tensor([2]), 2, 1024)
        left = int(scores.isfinite().sum())
        print(f"{what}, to end when 2 tokens stand twice\n  expected 150000 tokens allowed")
        print(f"  got      {left}{': the stop token' if left == 1 else ''}")
        wrong += left == 1
    print("the same next to a request with ignore_eos, which has no stop token (-1)")
    texts, stops = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[STOP], [-1]])
    try:
        got = end(torch.zeros(2, 20), stops, texts, None, torch.tensor([2, 0]), 2, 1024)
    except (RuntimeError, IndexError) as error:
        got, wrong = error, wrong + 1
    print(f"  expected 20 tokens allowed for both\n  got      {got}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
