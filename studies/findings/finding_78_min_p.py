"""SGLang: min_p has no effect in speculative decoding. No GPU.

    sampler-parity engines exec sglang -- python studies/findings/finding_78_min_p.py

The rest of SGLang is a mock. The verifier that eagle_sample calls keeps what it gets, and ends."""

import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

NAME = "sglang.srt.speculative.eagle_utils"


class Mocks:
    def find_spec(self, name: str, *_: Any) -> Any:
        ours: Any = name.partition(".")[0] == "sglang" and self
        return (ours and importlib.util.spec_from_loader(name, ours)) or None

    def create_module(self, spec: Any) -> Any:
        return MagicMock(__path__=[], __spec__=spec)

    def exec_module(self, _: Any) -> None: ...


def main() -> int:
    import torch

    root = importlib.util.find_spec("sglang").submodule_search_locations[0]  # type: ignore
    sys.meta_path.insert(0, cast(Any, Mocks()))
    eagle: Any = ModuleType(NAME)
    exec(Path(root, *NAME.split(".")[1:]).with_suffix(".py").read_text(), vars(eagle))
    eagle._verify_uses_greedy = lambda **_: False
    eagle._can_use_sparse_uno_tree_target_sampling = lambda *_: False
    eagle.sampling_softmax = lambda x, temperatures: (x / temperatures).softmax(-1)
    eagle.get_spec.return_value.speculative_use_rejection_sampling = False
    off = ("acc_additive_penalties", "acc_scaling_penalties", "logit_bias", "sampling_seed")
    needs = {"need_top_k_sampling": False, "need_top_p_sampling": False, "is_all_greedy": False}
    info = SimpleNamespace(**dict.fromkeys(off), **needs, temperatures=torch.ones(1, 1))
    info.need_min_p_sampling, info.min_ps = True, torch.tensor([0.5])
    drafts = MagicMock(draft_token_num=2, max_tree_depth=2, draft_token=torch.tensor([0, 1]))
    batch = MagicMock(device="cpu", seq_lens=torch.tensor([5]), sampling_info=info)
    batch.forward_mode.is_idle.return_value = False
    p = torch.tensor([[0.5, 0.3, 0.15, 0.05]] * 2)
    verifier = eagle.tree_speculative_sampling_target_only
    verifier.side_effect = InterruptedError
    with suppress(InterruptedError):
        eagle.eagle_sample(drafts, batch, MagicMock(next_token_logits=p.log()))
    got = verifier.call_args.kwargs["target_probs"][0, 0]
    print("min_p 0.5 of p = 0.5, 0.3, 0.15, 0.05: p of the row that judges a draft")
    print(f"  expected [0.625, 0.375, 0, 0]\n  got      {[round(x, 3) for x in got.tolist()]}")
    return int(got[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
