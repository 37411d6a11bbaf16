"""Faults of the log-probabilities that vLLM returns, planted in its own text."""

from sampler_parity.engines.shared.reported_faults import faults_of_logprobs
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.worker import Worker

FAULTS = faults_of_logprobs("vllm", Worker, vllm)
