"""Faults of the log-probabilities that MLX LM returns, planted in its own text."""

from sampler_parity.engines.mlx_lm.engine import generation
from sampler_parity.engines.mlx_lm.worker import Worker
from sampler_parity.engines.shared.reported_faults import faults_of_logprobs

FAULTS = faults_of_logprobs("mlx_lm", Worker, generation)
