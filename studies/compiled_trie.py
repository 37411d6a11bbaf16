"""The cost of a step of the token trie: in C++, in Python, and of llama.cpp's grammar.

    python -m studies.compiled_trie [small] [random-128256]

A step is one `llama_sampler_apply` and one `llama_sampler_accept`, called from Python along the
leaves that the first prompts end in. All variants take turns in random order.

generating: each step follows a forward pass of the model, as in a generation
alone: one step after another, with the processor's caches as the steps before left them
calls: a chain without a sampler, the cost of the calls themselves
memset: writes the bytes of the candidates; no mask can be quicker

Ratios are of medians, with their 95% intervals.
"""

import argparse
import ctypes
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.compiled_trie import CompiledTrie
from sampler_parity.harness.llama_cpp.token_trie import NativeTrie
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval, ratio_of_medians
from sampler_parity.harness.trie.bench import Bench
from sampler_parity.harness.trie.costs import Row, step_ns
from sampler_parity.harness.trie.session import Session, build_tries
from sampler_parity.harness.trie.workloads import PROMPTS

ROUNDS, RESAMPLES = 15, 2000
MODELS = ("small", "random-128256")

Steps = list[tuple[int, Row]]  # of a leaf: each token and the logits before it


def samplers_of(bench: Bench, tries: CompiledTrie) -> dict[str, int]:
    """Return llama_samplers at the root of the trie; the caller frees them."""
    library = bench.session.library
    flat = build_tries(bench.payload).by_path[bench.payload.descriptors[0].path]
    params = library.llama_sampler_chain_default_params()
    made = {"calls": int(library.llama_sampler_chain_init(params))}
    for way, compact in ("compacting", True), ("masking", False):
        made[f"{way}, Python"] = NativeTrie(library, flat, 1, compact).pointer
        made[f"{way}, C++"] = tries.init(bench.json, 1, compact=compact)
    return made


def costs(
    bench: Bench, leaves: list[Steps], rounds: int, before: Callable[[], object]
) -> dict[str, NDArray[np.int64]]:
    """Return the nanoseconds of every step, by variant. before: is called before each."""
    tries, grammar = CompiledTrie(), bench.grammar(bench.gbnf, first=True)
    library, ns = bench.session.library, dict[str, list[int]]()
    for _ in range(rounds):
        for leaf in leaves:
            samplers = samplers_of(bench, tries)
            grammar.reset()
            ways = {**samplers, "grammar": grammar.grammar}
            for token, row in leaf:
                for way in random.sample([*ways, "memset"], len(ways) + 1):
                    before()
                    if way == "memset":
                        spent = memset_ns(row)
                    else:
                        spent = step_ns(library, ways[way], token, row)
                    ns.setdefault(way, []).append(spent)
            for sampler in samplers.values():
                library.llama_sampler_free(sampler)
    return {way: np.array(spent) for way, spent in ns.items()}


def memset_ns(row: Row) -> int:
    candidates = NativeCandidates(row)
    start = time.perf_counter_ns()
    ctypes.memset(candidates.start, 0, candidates.data.nbytes)
    return time.perf_counter_ns() - start


def times(theirs: NDArray[np.int64], ours: NDArray[np.int64]) -> str:
    low, high = bootstrap_interval((theirs, ours), ratio_of_medians, RESAMPLES)
    return f"{ratio_of_medians(theirs, ours):,.1f} [{low:,.1f}, {high:,.1f}]"


def times_less(theirs: NDArray[np.int64], ours: NDArray[np.int64], both: NDArray[np.int64]) -> str:
    """Format the ratio without the part that is in both."""
    low, high = bootstrap_interval((theirs, ours, both), less_ratio, RESAMPLES)
    return f"{less_ratio(theirs, ours, both):,.1f} [{low:,.1f}, {high:,.1f}]"


def less_ratio(theirs: Any, ours: Any, both: Any, axis: int = -1) -> Any:
    theirs, ours, both = (np.median(sample, axis=axis) for sample in (theirs, ours, both))
    return (theirs - both) / (ours - both)


def us(ns: NDArray[np.int64]) -> str:
    return f"{np.median(ns) / 1000:,.1f}"


def rows(model: str, when: str, ns: dict[str, NDArray[np.int64]]) -> Iterator[str]:
    for way in ("compacting", "masking"):
        ours, by_python, calls = ns[f"{way}, C++"], ns[f"{way}, Python"], ns["calls"]
        cells = [
            f"`{model}`, {when}, {way}",
            us(ours),
            f"{us(by_python)}, {times(by_python, ours)}",
            # compacting is nothing compared with the calls
            times_less(by_python, ours, calls) if way == "masking" else "",
            f"{us(ns['grammar'])}, {times(ns['grammar'], ours)}",
            us(calls),
            us(ns["memset"]),
        ]
        yield "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser("studies.compiled_trie", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    heads = ["model, way", "C++ us", "Python us, over C++", "less calls", "grammar us, over C++"]
    print("| " + " | ".join([*heads, "calls us", "memset us"]) + " |")
    print("| --- " + "| ---: " * 6 + "|")
    for model in parser.parse_args().models:
        bench = Bench(model, "actions", PROMPTS[:3])
        leaves = []
        for prompt in bench.prompts:
            bench.begin(prompt)
            leaves.append(bench.leaf_rows(prompt, bench.trie_span(skip_ahead=False).tokens))
        prompt = bench.prompts[0]

        def forward_pass(session: Session = bench.session, prompt: list[int] = prompt) -> None:
            session.rewind(len(prompt) - 1)
            session.context.decode(prompt[-1:])

        bench.begin(prompt)
        for when, before in ("generating", forward_pass), ("alone", lambda: None):
            for line in rows(model, when, costs(bench, leaves, ROUNDS, before)):
                print(line)
        bench.close()


if __name__ == "__main__":
    main()
