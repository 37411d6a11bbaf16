"""The cost of the trie and of the grammar alone: the work of a step, and setting them up."""

import ctypes
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.protocol.measured import OwnCosts, SetCosts
from sampler_parity.harness.trie.grammar import Baseline
from sampler_parity.harness.trie.session import Session, build_tries
from sampler_parity.reference.trie import TrieCache

Row = NDArray[np.float32]
# compact, and a new llama_sampler of the trie that is measured
Make = Callable[[bool], int]


def own_costs(
    library: Libllama, make: Make, grammar: Baseline, steps: list[tuple[int, Row]], times: int
) -> OwnCosts:
    """Measure the three samplers, which take turns. steps: the tokens of a leaf and the logits
    before each."""
    costs: dict[str, list[int]] = {"masking": [], "compacting": [], "grammar": []}
    for _ in range(times):
        samplers = {
            "masking": make(False),
            "compacting": make(True),
            "grammar": grammar.grammar,
        }
        grammar.reset()
        for token, row in steps:
            for name, sampler in samplers.items():
                costs[name].append(step_ns(library, sampler, token, row))
        for name in ("masking", "compacting"):
            library.llama_sampler_free(samplers[name])
    return OwnCosts(**{name: statistics.median(ns) / 1000 for name, ns in costs.items()})


def trie_left(library: Libllama, make: Make, steps: list[tuple[int, Row]]) -> list[int]:
    """Return how many candidates have a logit above -inf after the trie, at each step of a leaf."""
    sampler = make(False)
    counts = []
    for token, row in steps:
        candidates = NativeCandidates(row)
        library.apply(sampler, candidates.array)
        counts.append(int((candidates.data["logit"] != -np.inf).sum()))
        library.llama_sampler_accept(sampler, token)
    library.llama_sampler_free(sampler)
    return counts


def step_ns(library: Libllama, sampler: int, token: int, row: Row) -> int:
    """Time applying a sampler to a row of its own and accepting the token."""
    candidates = NativeCandidates(row)
    array = ctypes.byref(candidates.array)
    start = time.perf_counter_ns()
    library.llama_sampler_apply(sampler, array)
    library.llama_sampler_accept(sampler, token)
    return time.perf_counter_ns() - start


def set_costs(session: Session, payload_json: str, times: int) -> SetCosts:
    before = session.cache
    cold: list[int] = []
    cached: list[int] = []
    for _ in range(times):
        session.cache = TrieCache(build_tries)
        if session.compiled is not None:
            session.compiled.forget()
        for spent in (cold, cached):
            start = time.perf_counter_ns()
            session.set_token_trie(payload_json, 0)
            spent.append(time.perf_counter_ns() - start)
            session.clear_token_trie()
    session.cache = before
    return SetCosts(cold=statistics.median(cold) / 1000, cached=statistics.median(cached) / 1000)
