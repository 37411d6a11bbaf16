"""Faults planted in the model of vllm: each must be caught by a case."""

from sampler_parity.engines.vllm.model_faults import filters, processors

MUTANTS = [*processors.MUTANTS, *filters.MUTANTS]
