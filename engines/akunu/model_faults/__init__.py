"""Faults planted in the model of akunu: each must be caught by a case."""

from sampler_parity.engines.akunu.model_faults import gumbel_max, pipeline

MUTANTS = [*pipeline.MUTANTS, *gumbel_max.MUTANTS]
