"""MLX LM for its samplers only: the modules, and the input of the draw."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.harness.errors import Unsupported


@cache
def libraries() -> tuple[Any, Any]:
    """Import mlx.core and mlx_lm.sample_utils, without the rest, which loads transformers."""
    found = importlib.util.find_spec("mlx_lm")
    if found is None:
        raise Unsupported("mlx_lm is not installed")
    package = ModuleType("mlx_lm")
    package.__path__ = list(found.submodule_search_locations or [])
    sys.modules.setdefault("mlx_lm", package)
    mx = importlib.import_module("mlx.core")
    mx.disable_compile()
    return mx, importlib.import_module("mlx_lm.sample_utils")


@cache
def generation() -> Any:
    """Import mlx_lm.generate, without tokenizers and what loads a model."""
    libraries()
    stand_in_for(["transformers", "mlx_lm.tokenizer_utils", "mlx_lm.utils", "mlx_lm.processors"])
    return importlib.import_module("mlx_lm.generate")


class DrawInput:
    """Records the scores that make_sampler's filters pass to the draw, its last call."""

    def __init__(self, mlx: Any, draw: bool) -> None:
        self.mlx, self.original, self.draw = mlx, mlx.categorical_sampling, draw
        self.scores: Any = None

    def __call__(self, scores: Any, temp: float) -> Any:
        self.scores = scores
        return self.original(scores, temp) if self.draw else None

    def __enter__(self) -> "DrawInput":
        self.mlx.categorical_sampling = self
        return self

    def __exit__(self, *problem: object) -> None:
        self.mlx.categorical_sampling = self.original


def drawn(draw: Callable[[], Any], n: int) -> list[int]:
    """Draw n tokens one after the other; 256 at a time are computed together."""
    tokens: list[int] = []
    while len(tokens) < n:
        waiting = [draw() for _ in range(min(256, n - len(tokens)))]
        tokens += np.array(libraries()[0].concatenate(waiting)).tolist()
    return tokens


def log_probs(scores: Any) -> Any:
    """Return log-probabilities, as generate_step makes them of logits."""
    return scores - libraries()[0].logsumexp(scores, axis=-1, keepdims=True)
