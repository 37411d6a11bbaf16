"""The reference: every llama.cpp sampler as readable, executable specification."""

from reference.candidates import Candidates
from reference.chain import ALL_SAMPLERS, ENGINES, SAMPLERS, Chain, Sampler, Stage, build_chain
from reference.errors import ChainError, UndefinedInputError
from reference.vocab import Vocab

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
