"""Build the sampler that llama-cpp-python's server makes of a request: `Llama`, whose defaults the
server has, except max_tokens and repeat_penalty.

Source: Llama.generate of llama-cpp-python 0.3.36. Its samplers accept nothing of the prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.programs.servers.oracle.samplers import NOT_SAMPLING, TokenSampler
from sampler_parity.reference import Candidates, Sampler
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class _ServerSampler:
    sampler: Sampler
    bias: Mapping[int, float]

    def sample(self, row: NDArray[np.float32]) -> int:
        for token, bias in self.bias.items():
            row[token] += np.float32(bias)
        candidates = Candidates.from_logits(row)
        self.sampler.apply(candidates)
        assert candidates.token is not None
        self.sampler.accept(candidates.token)
        return candidates.token


def sampler(parameters: Mapping[str, Any], prompt: Sequence[int], vocab: Vocab) -> TokenSampler:
    """Build the sampler of a request."""
    stated = {"repeat_penalty": 1.1, **parameters}  # the server's default, not `Llama`'s
    fields = {k: v for k, v in stated.items() if k not in (*NOT_SAMPLING, "logit_bias")}
    bias = {int(token): value for token, value in (parameters.get("logit_bias") or {}).items()}
    engine = ALL_SAMPLERS["llama_cpp_python"](n_vocab=len(vocab), **fields)
    return _ServerSampler(engine, bias)
