"""lmdeploy: speculative decoding draws tokens that top-k has removed. No GPU.

    sampler-parity engines exec lmdeploy -- python studies/findings/finding_77_filters.py

The rest of lmdeploy is a mock. The verifier that the agent calls keeps what it gets."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

PT = "lmdeploy.pytorch."


class Mocks:
    def find_spec(self, name: str, *_: Any) -> Any:
        ours: Any = name.partition(".")[0] == "lmdeploy" and self
        return (ours and importlib.util.spec_from_loader(name, ours)) or None

    def create_module(self, spec: Any) -> Any:
        return MagicMock(BaseSpecModelAgent=object, __path__=[], __spec__=spec)

    def exec_module(self, _: Any) -> None: ...


def module(root: str, name: str) -> Any:
    made = sys.modules[name] = ModuleType(name)
    made.__package__ = name.rpartition(".")[0]
    exec(Path(root, *name.split(".")[1:]).with_suffix(".py").read_text(), vars(made))
    return made


def main() -> int:
    import torch

    root = importlib.util.find_spec("lmdeploy").submodule_search_locations[0]  # type: ignore
    sys.meta_path.insert(0, cast(Any, Mocks()))
    logits = module(root, PT + "engine.logits_process")
    agent = module(root, PT + "spec_decode.spec_agent")
    verifier = MagicMock(return_value=(torch.zeros(1),) * 3)
    me = MagicMock(num_spec_tokens=1, rejection_sampler=verifier)
    me.guided_helper = MagicMock(accept_rejection_sampled_tokens=AsyncMock())
    me.guided_helper.get_processors.return_value = {}
    off: Any = {"max_num_logprobs": -1, "logits_processors": []}
    inputs = logits.SamplingInputs(batch_size=1, top_k=torch.tensor([2]), max_top_k=2, **off)
    rows = torch.tensor([[3.0, 2.0, 1.0, 0.0]] * 2)
    model = MagicMock(is_dummy=False, is_decoding=True, seq_length=torch.tensor([2]))
    judge, extra = agent.SpecModelAgent._rejection_sampling, MagicMock(target_logits=rows)
    asyncio.run(judge(me, model, extra, inputs))
    p = verifier.call_args.args[0][0, 0].softmax(-1)
    print("top-k 2 of logits 3, 2, 1, 0: p of the row that judges a draft")
    print(f"  expected [0.731, 0.269, 0, 0]\n  got      {[round(x, 3) for x in p.tolist()]}")
    return int(p[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
