"""The costs of the token trie: reading a payload, a cache that threads share, one application.

    python -m studies.trie_costs

prints the cost of reading a payload with and without the cache, of a cache that threads share
compared with one for each, and of one application of the trie by the size of the vocabulary.
"""

import argparse
import ctypes
import json
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie, NativeTrie
from sampler_parity.harness.protocol.measured import SetCosts
from sampler_parity.harness.trie.session import Tries, build_tries, payload_of
from sampler_parity.harness.trie.workloads import leaf_texts
from sampler_parity.reference.trie import Leaf, TrieCache, read_payload


def payload_costs(payload_json: str, times: int) -> tuple[SetCosts, float]:
    """Measure reading and building alone, as set_costs, and the share of the first json.loads.

    Processor time, so other programs on the machine do not count.
    """
    cold: list[int] = []
    cached: list[int] = []
    parsing: list[int] = []
    for _ in range(times):
        cache = TrieCache(build_tries)
        for spent in (cold, cached):
            start = time.process_time_ns()
            cache.acquire(payload_json)
            spent.append(time.process_time_ns() - start)
        start = time.process_time_ns()
        json.loads(payload_json)
        parsing.append(time.process_time_ns() - start)
    first, again, parse = (statistics.median(ns) / 1000 for ns in (cold, cached, parsing))
    return SetCosts(cold=first, cached=again), parse


def threads_us(payload_json: str, threads: int, shared: bool, times: int) -> float:
    """Return the microseconds of an acquire and a release of a cached payload by many threads.

    They share one cache behind a lock, or each has its own: the median over the threads' means.
    """
    lock = threading.Lock()
    one: TrieCache[Tries] = TrieCache(build_tries)
    one.acquire(payload_json)
    ready = threading.Barrier(threads)
    times_us: list[float] = []

    def work() -> None:
        cache, guard = one, lock if shared else nullcontext()
        if not shared:
            cache = TrieCache(build_tries)
            cache.acquire(payload_json)
        ready.wait()
        times_us.append(_acquire_us(cache, payload_json, guard, times))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return statistics.median(times_us)


def _acquire_us(
    cache: TrieCache[Tries], text: str, guard: AbstractContextManager[object], times: int
) -> float:
    start = time.perf_counter_ns()
    for _ in range(times):
        with guard:
            cache.release(cache.acquire(text)[0])
    return (time.perf_counter_ns() - start) / times / 1000


def apply_us(
    library: Libllama,
    sizes: tuple[int, ...],
    compact: bool,
    times: int,
    of: Callable[[list[int]], float] = statistics.median,
) -> list[float]:
    """Return the median microseconds, or another figure, of one trie application by candidates.

    The trie is that of `actions`, at its root; sizes take turns. Compacting, only the children are
    touched between two turns.
    """
    flat = FlatTrie(tuple(Leaf(text, tuple(text.encode())) for text in leaf_texts("actions")))
    rows = [NativeCandidates(np.zeros(n, np.float32)) for n in sizes]
    first = rows[0].data[: len(flat.children(0))].copy()
    sampler = NativeTrie(library, flat, 1, compact).pointer
    per_size: list[list[int]] = [[] for _ in sizes]
    for _ in range(times):
        for row, n, ns in zip(rows, sizes, per_size, strict=True):
            array = ctypes.byref(row.array)
            start = time.perf_counter_ns()
            library.llama_sampler_apply(sampler, array)
            ns.append(time.perf_counter_ns() - start)
            if compact:
                row.data[: len(first)], row.array.size = first, n
            else:
                row.data["logit"] = 0
    library.llama_sampler_free(sampler)
    return [of(ns) / 1000 for ns in per_size]


def main() -> None:
    argparse.ArgumentParser("studies.trie_costs", description=__doc__).parse_args()
    head = "| leaves | JSON bytes | trie bytes | first use | of it json.loads | cached |"
    print(head + "\n" + "| ---: " * 6 + "|")
    for n in (2, 30, 100, 1000, 10_000):
        leaves = {text: list(text.encode()) for text in leaf_texts(f"enum:{n}")}
        text = json.dumps(payload_of("m", "enum", leaves))
        costs, parse = payload_costs(text, times=11)
        size = build_tries(read_payload(text)).by_path["enum"].nbytes
        shown = f"{costs.cold:,.0f} us | {parse:,.0f} us | {costs.cached:,.0f} us"
        print(f"| {n:,} | {len(text):,} | {size:,} | {shown} |")
    leaves = {text: list(text.encode()) for text in leaf_texts("actions")}
    text = json.dumps(payload_of("m", "action", leaves))
    print("\n| threads | shared, locked | one each |\n| ---: | ---: | ---: |")
    for threads in (1, 2, 4):
        rounds = [[threads_us(text, threads, way, 500) for way in (True, False)] for _ in range(9)]
        shared, own = (statistics.median(way) for way in zip(*rounds, strict=True))
        print(f"| {threads} | {shared:.1f} us | {own:.1f} us |")
    print("\n| V | masking | compacting |\n| ---: | ---: | ---: |")
    sizes = (4096, 128_256, 1 << 20)
    library = Libllama(default_folder())
    masking, compacting = (apply_us(library, sizes, way, times=101) for way in (False, True))
    for n, mask_us, compact_us in zip(sizes, masking, compacting, strict=True):
        print(f"| {n:,} | {mask_us:,.0f} us | {compact_us:,.0f} us |")


if __name__ == "__main__":
    main()
