"""Two processors, and the list that applies them."""

from typing import Any

import numpy as np


class LogitsProcessorList(list[Any]):
    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        for processor in self:
            scores = processor(input_ids, scores)
        return scores


class RepetitionPenaltyLogitsProcessor:
    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        scores = scores.copy()
        for row, tokens in zip(scores, input_ids, strict=True):
            seen = np.unique(tokens)
            old, penalty = np.asarray(row[seen]), np.float32(self.penalty)
            row[seen] = np.where(old < 0, old * penalty, old / penalty)
        return scores


class TopKLogitsWarper:
    def __init__(self, top_k: int) -> None:
        self.top_k, self.filter_value = top_k, -np.inf

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        least = np.sort(scores, -1)[:, -self.top_k][:, None]
        return np.where(scores < least, np.float32(self.filter_value), scores).view(type(scores))
