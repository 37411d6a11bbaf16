"""What a step of the token trie costs: in C++, by Python's functions, and of llama.cpp's grammar.

    python -m studies.compiled_trie [small] [random-128256]

A step is one `llama_sampler_apply` and one `llama_sampler_accept`, called from Python along the
leaves that the first prompts end in, all ways in turns in random order. `empty` is a chain without
a sampler: what the calls themselves take. Ratios are of medians, with their 95% intervals.
"""

import argparse
import random

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.llama_cpp.compiled_trie import CompiledTrie
from sampler_parity.harness.backends.llama_cpp.token_trie import NativeTrie
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval, ratio_of_medians
from sampler_parity.harness.trie.bench import Bench
from sampler_parity.harness.trie.costs import Row, step_ns
from sampler_parity.harness.trie.session import build_tries
from sampler_parity.harness.trie.workloads import PROMPTS

ROUNDS, RESAMPLES = 15, 2000
MODELS = ("small", "random-128256")

Steps = list[tuple[int, Row]]  # of a leaf: each token and the logits before it


def samplers_of(bench: Bench, tries: CompiledTrie) -> dict[str, int]:
    """llama_samplers at the root of the trie; the caller frees them."""
    library = bench.session.library
    flat = build_tries(bench.payload).by_path[bench.payload.descriptors[0].path]
    params = library.llama_sampler_chain_default_params()
    made = {"empty": int(library.llama_sampler_chain_init(params))}
    for way, compact in ("compacting", True), ("masking", False):
        made[f"{way}, Python"] = NativeTrie(library, flat, 1, compact).pointer
        made[f"{way}, C++"] = tries.init(bench.json, 1, compact=compact)
    return made


def costs(bench: Bench, leaves: list[Steps], rounds: int) -> dict[str, NDArray[np.int64]]:
    """Nanoseconds of every step, by way."""
    tries, grammar = CompiledTrie(), bench.grammar(bench.gbnf, first=True)
    library, ns = bench.session.library, dict[str, list[int]]()
    for _ in range(rounds):
        for leaf in leaves:
            samplers = samplers_of(bench, tries)
            grammar.reset()
            ways = {**samplers, "grammar": grammar.grammar}
            for token, row in leaf:
                for way in random.sample([*ways], len(ways)):
                    spent = step_ns(library, ways[way], token, row)
                    ns.setdefault(way, []).append(spent)
            for sampler in samplers.values():
                library.llama_sampler_free(sampler)
    return {way: np.array(spent) for way, spent in ns.items()}


def times(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> str:
    low, high = bootstrap_interval((theirs, ours), ratio_of_medians, RESAMPLES)
    return f"{ratio_of_medians(theirs, ours):,.1f} [{low:,.1f}, {high:,.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser("studies.compiled_trie", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    print("| model, way | C++ us | Python us, over C++ | grammar us, over C++ | call alone us |")
    print("| --- " + "| ---: " * 4 + "|")
    for model in parser.parse_args().models:
        bench = Bench(model, "actions", PROMPTS[:3])
        leaves = []
        for prompt in bench.prompts:
            bench.begin(prompt)
            leaves.append(bench.leaf_rows(prompt, bench.trie_span(skip_ahead=False).tokens))
        ns = costs(bench, leaves, ROUNDS)
        for way in ("compacting", "masking"):
            ours, by_python = ns[f"{way}, C++"], ns[f"{way}, Python"]
            cells = [f"`{model}`, {way}", f"{np.median(ours) / 1000:,.1f}"]
            cells += [
                f"{np.median(theirs) / 1000:,.0f}, {times(ours, theirs)}"
                for theirs in (by_python, ns["grammar"])
            ]
            print("| " + " | ".join([*cells, f"{np.median(ns['empty']) / 1000:.1f}"]) + " |")
        bench.close()


if __name__ == "__main__":
    main()
