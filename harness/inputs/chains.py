"""Chain specifications as the harness sends them: with every parameter filled in."""

import inspect
from typing import Any

from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference.chain import parameters_of


def complete(chain: ChainSpec, n_vocab: int) -> ChainSpec:
    """Fill in the defaults of all parameters, so that an adapter needs none of its own. The caller
    has checked the chain: suites check theirs as they are read."""
    return [
        {name: _defaults(name, n_vocab) | parameters}
        for stage in chain
        for name, parameters in stage.items()
    ]


def _defaults(name: str, n_vocab: int) -> dict[str, Any]:
    parameters = parameters_of(ALL_SAMPLERS[name])
    defaults = {
        key: parameter.default
        for key, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty and key != "vocab"
    }
    if "n_vocab" in parameters:
        defaults["n_vocab"] = n_vocab
    return defaults
