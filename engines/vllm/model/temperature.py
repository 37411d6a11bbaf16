"""vllm_temperature: logits divided by the temperature; 0 selects the largest.

    temperature = 0:  selected = the first of the largest logits; nothing else is changed
    else:             logit / max(temperature, 0.01), in float32

Parameters:
    temperature  >= 0. Values between 0 and 0.01 are raised to 0.01.
Ties: of equal logits the first is selected, of several NaN too.
Edges: a request at 0 has neither min-p nor top-k nor top-p: they skip a selected token.
Source: SamplingParams.__post_init__, vllm/sampling_params.py; Sampler.apply_temperature and
    Sampler.sample, vllm/v1/sample/sampler.py, at 0.32.0.
Suite: engines/vllm/suites/vllm/vllm_stages.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32
from sampler_parity.reference.sampler import Stateless

SMALLEST = 0.01  # _MAX_TEMP


class VllmTemperature(Stateless):
    name = "vllm_temperature"

    def __init__(self, temperature: Any) -> None:
        self.temperature = float32("temperature", temperature)
        if self.temperature < 0:
            raise ChainError(f"temperature must be 0 or more, got {temperature!r}")
        if 0 < self.temperature < SMALLEST:
            self.temperature = np.float32(SMALLEST)

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "vLLM")
        if self.temperature == 0:
            cand.selected = int(cand.logits.argmax())
        else:
            cand.logits = cand.logits / cand.logits.dtype.type(self.temperature)
            cand.sorted = False
