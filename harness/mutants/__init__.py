"""Planted faults: samplers and chains wrong in one named way, which the self-test must catch.

One file for each sampler, and chain.py for faults between the samplers. adapters.py holds whole
adapters that break the protocol; it is not imported here because it is run as a program.
"""

from sampler_parity.harness.mutants import (
    adaptive_p,
    akunu,
    akunu_gumbel,
    chain,
    dist,
    dry,
    grammar,
    grammar_lazy_patterns,
    greedy,
    infill,
    logit_bias,
    min_p,
    mirostat,
    mirostat_v2,
    penalties,
    power_law,
    temp,
    temp_ext,
    token_trie,
    top_k,
    top_n_sigma,
    top_p,
    tsampler,
    typical_p,
    xtc,
)
from sampler_parity.harness.mutants.mutant import Mutant

_FILES = [
    greedy, dist, top_k, top_p, min_p, typical_p, temp, temp_ext, xtc, top_n_sigma, mirostat,
    mirostat_v2, penalties, dry, logit_bias, infill, adaptive_p, token_trie, grammar,
    grammar_lazy_patterns, chain,
    akunu, akunu_gumbel, power_law, tsampler,
]  # fmt: skip

MUTANTS: dict[str, Mutant] = {m.name: m for file in _FILES for m in file.MUTANTS}

__all__ = ["MUTANTS", "Mutant"]
