"""The reference: every llama.cpp sampler as readable, executable specification.

Its names are loaded on first use: a backend that needs an error type loads no sampler.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sampler_parity.reference.candidates import Candidates
    from sampler_parity.reference.chain import Chain, Stage, build_chain
    from sampler_parity.reference.errors import ChainError, UndefinedInputError
    from sampler_parity.reference.registry import SAMPLERS
    from sampler_parity.reference.sampler import Sampler
    from sampler_parity.reference.vocab import Vocab

__all__ = [
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

_MODULES = {
    "candidates": ["Candidates"],
    "chain": ["Chain", "Stage", "build_chain"],
    "errors": ["ChainError", "UndefinedInputError"],
    "registry": ["SAMPLERS"],
    "sampler": ["Sampler"],
    "vocab": ["Vocab"],
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
