"""A row through MLX LM's logits processors and the filters of its sampler, one for each stage."""

from typing import Any

from sampler_parity.engines.mlx_lm import arguments as mlx
from sampler_parity.harness.errors import Unsupported
from sampler_parity.maintenance.repro.engine import EngineScript, keywords, of_calls, pinned


def _calls(name: str, parameters: dict[str, Any], tokens: list[int]) -> tuple[list[str], list[str]]:
    if name in ("penalties", "logit_bias"):
        options = keywords(mlx.processors_of(name, parameters))
        return [f"scores = processed(scores, {tokens}, {options})"], []
    if name not in ("top_k", "top_p", "min_p"):
        raise Unsupported(f"MLX LM has no function that is {name} and draws nothing")
    return [f"scores = filtered(scores, {keywords(mlx.sampler_of(name, parameters))})"], []


def _packages(version: str) -> str:
    return pinned(version).replace("mlx_lm", "mlx-lm")


SCRIPT = EngineScript(__file__, "repro.py", _packages, of_calls(_calls))
