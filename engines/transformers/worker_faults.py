"""Faults of the log-probabilities of transformers, planted in its `generate`."""

from sampler_parity.engines.shared.reported_faults import faults_of_logprobs
from sampler_parity.engines.transformers.worker import Worker

FAULTS = faults_of_logprobs("transformers", Worker)
