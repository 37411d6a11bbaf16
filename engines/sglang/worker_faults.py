"""Faults of the log-probabilities that SGLang returns, planted in its own text."""

from sampler_parity.engines.sglang.engine import sglang
from sampler_parity.engines.sglang.worker import Worker
from sampler_parity.engines.shared.reported_faults import faults_of_logprobs

FAULTS = faults_of_logprobs("sglang", Worker, sglang)
