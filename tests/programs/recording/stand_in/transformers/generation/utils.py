"""`generate` of a model of random rows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from transformers.generation.logits_process import LogitsProcessorList
from transformers.generation.stopping_criteria import StoppingCriteriaList


class Tensor(np.ndarray[Any, Any]):
    def detach(self) -> "Tensor":
        return self

    float = cpu = detach

    def numpy(self) -> Any:
        return np.asarray(self)


class GenerationMixin:
    def generate(self, prompts: list[list[int]], processors: list[Any], seed: int = 0) -> Any:
        """Sample with a seed, or take the likeliest with 0."""
        config = SimpleNamespace(do_sample=seed > 0, seed=seed)
        given = (LogitsProcessorList(processors), StoppingCriteriaList(), config)
        return self._sample(np.array(prompts).view(Tensor), *given).tolist()

    def _sample(
        self, input_ids: Any, logits_processor: Any, stopping_criteria: Any, generation_config: Any
    ) -> Any:
        rng = np.random.default_rng(generation_config.seed)
        going = np.ones(len(input_ids), bool)
        while going.any():
            row = rng.normal(0, 3, (len(input_ids), 3000)).astype(np.float32)
            row[:, 2:9] += 8  # so that tokens come again, and rows end
            scores = logits_processor(input_ids, row.view(Tensor))
            noise = rng.gumbel(size=scores.shape) if generation_config.do_sample else 0
            tokens = np.where(going, (scores + noise).argmax(-1), 0)
            input_ids = np.concatenate([input_ids, tokens[:, None]], -1).view(Tensor)
            going &= ~np.asarray(stopping_criteria(input_ids, scores))
        return input_ids
