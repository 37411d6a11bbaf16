"""A row through MLX LM's logits processors and the filters of its sampler, one for each stage."""

from typing import Any

from sampler_parity.engines.mlx_lm import arguments as mlx
from sampler_parity.harness.errors import Unsupported
from sampler_parity.maintenance.repro.engine import GIVEN, EngineScript, keywords, of_calls, pinned

_SOURCE = (
    '''\
"""{title}

{about}

    pip install {packages}
    python {file}
"""

import importlib.util
import sys
import types

import mlx.core as mx

package = types.ModuleType("mlx_lm")  # its own __init__ loads transformers
package.__path__ = importlib.util.find_spec("mlx_lm").submodule_search_locations
sys.modules["mlx_lm"] = package
from mlx_lm import sample_utils

'''
    + GIVEN
    + '''\


def filtered(scores, **options):
    """What make_sampler's filters hand to the draw, as the logits that they leave."""
    seen = []
    sample_utils.categorical_sampling = lambda left, temp: seen.append(left)
    sample_utils.make_sampler(**options)(scores - mx.logsumexp(scores, axis=-1, keepdims=True))
    return mx.where(seen[-1] == -mx.inf, -mx.inf, scores)


def processed(scores, tokens, **options):
    for processor in sample_utils.make_logits_processors(**options):
        scores = processor(mx.array(tokens), scores)
    return scores


scores = mx.array([LOGITS])
{calls}

expected = dict(zip(IDS, map(repr, mx.array(VALUES).tolist())))
got = {{i: repr(x) for i, x in enumerate(scores[0].tolist()) if x != -inf}}
for token in sorted({{*expected, *got}}):
    print(f"{{token:7}} expected {{expected.get(token, '-'):>22}} got {{got.get(token, '-'):>22}}")
sys.exit(int(got != expected))
'''
)


def _calls(name: str, parameters: dict[str, Any], tokens: list[int]) -> tuple[list[str], list[str]]:
    if name in ("penalties", "logit_bias"):
        options = keywords(mlx.processors_of(name, parameters))
        return [f"scores = processed(scores, {tokens}, {options})"], []
    if name not in ("top_k", "top_p", "min_p"):
        raise Unsupported(f"MLX LM has no function that is {name} and draws nothing")
    return [f"scores = filtered(scores, {keywords(mlx.sampler_of(name, parameters))})"], []


def _packages(version: str) -> str:
    return pinned(version).replace("mlx_lm", "mlx-lm")


SCRIPT = EngineScript(_SOURCE, "repro.py", _packages, of_calls(_calls))
