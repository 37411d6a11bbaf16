"""The reference: every llama.cpp sampler as readable, executable specification."""

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.chain import (
    Chain,
    Stage,
    build_chain,
)
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.registry import ALL_SAMPLERS, ENGINES, SAMPLERS, Sampler
from sampler_parity.reference.vocab import Vocab

__all__ = [
    "ALL_SAMPLERS",
    "ENGINES",
    "SAMPLERS",
    "Candidates",
    "Chain",
    "ChainError",
    "Sampler",
    "Stage",
    "UndefinedInputError",
    "Vocab",
    "build_chain",
]
