"""`python app.py [FAULT]`: print what the stand-in generates, with a fault in it, or trouble."""

import os
import sys
from typing import Any

import transformers.generation.utils as utils
from transformers.generation.logits_process import (
    RepetitionPenaltyLogitsProcessor,
    TopKLogitsWarper,
)
from transformers.tokenization_utils_base import PreTrainedTokenizerBase


def plant(fault: str) -> None:
    top_k, penalty = TopKLogitsWarper.__call__, RepetitionPenaltyLogitsProcessor.__call__
    faults: dict[str, tuple[type, Any]] = {
        "k plus one": (TopKLogitsWarper, lambda self, ids, x: top_k(TopKLogitsWarper(9), ids, x)),
        "a stage is skipped": (TopKLogitsWarper, lambda self, ids, x: x),
        "the history is shifted by one": (
            RepetitionPenaltyLogitsProcessor,
            lambda self, ids, x: penalty(self, ids[:, :-1], x),
        ),
        "a removed token is drawn": (
            utils.Tensor,
            lambda self, axis=-1: self.view(utils.np.ndarray).argmin(axis),
        ),
    }
    if fault in faults:
        kind, call = faults[fault]
        setattr(kind, "argmax" if kind is utils.Tensor else "__call__", call)


def main() -> None:
    trouble = sys.argv[1] if len(sys.argv) > 1 else ""
    plant(trouble)
    PreTrainedTokenizerBase.from_pretrained("words")
    processors: list[Any] = [RepetitionPenaltyLogitsProcessor(1.5), TopKLogitsWarper(8)]
    if trouble == "a function":
        processors.insert(0, lambda _ids, scores: scores + 1)
    if trouble == "a forked child":
        os.wait() if os.fork() else None
    if trouble == "an error in the recorder":
        vars(processors[1])["eos_token_id"] = object()
    model = utils.GenerationMixin()
    print(model.generate([[5, 6, 7]], processors))
    print(model.generate([[5, 6, 7], [0, 0, 9]], processors, 1))
    ours = [name for name in sys.modules if name.startswith(("sampler_parity", "pydantic"))]
    print(ours, [path for path in sys.path if path.endswith("hook")], flush=True)


if __name__ == "__main__":
    main()
