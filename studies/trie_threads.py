"""The cost of the lock of the compiled trie's cache with threads that run at once.

    python -m studies.trie_threads

One cache that 1 to 16 threads share, against a cache for each, in turns: nanoseconds of one use
over all threads, and their ratio with its 95% interval. Takes a C++ compiler and a minute.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sampler_parity.harness.llama_cpp.compiled import SOURCES, flags
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval, ratio_of_medians

DRIVER = Path(__file__).with_suffix(".cpp")
THREADS = (1, 2, 4, 8, 16)
TIMES = {"cache": 400_000, "span": 40_000}  # over all threads: about 50 ms
ROUNDS, RESAMPLES = 21, 2000


def driver(folder: Path, *options: str, sources: Path = SOURCES) -> Path:
    """Compile the program with the trie's sources in it. Raises CalledProcessError."""
    compiler = shutil.which("c++") or "c++"
    program = folder / "trie_threads"
    command = [compiler, "-std=c++17", *options, "-pthread", str(DRIVER), f"-I{sources}", *flags()]
    subprocess.run([*command, "-o", str(program)], check=True, capture_output=True)
    return program


def nanoseconds(program: Path, what: str, threads: int, way: str) -> float:
    times = str(TIMES[what] // threads)
    command: Sequence[str | Path] = (program, what, str(threads), way, times)
    return float(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


def main() -> None:
    argparse.ArgumentParser("studies.trie_threads", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = driver(Path(folder), "-O2")
        cells = [(what, n, way) for what in TIMES for n in THREADS for way in ("shared", "own")]
        ns: dict[tuple[str, int, str], list[float]] = {cell: [] for cell in cells}
        for _ in range(ROUNDS):
            for cell in random.sample(cells, len(cells)):
                ns[cell].append(nanoseconds(program, *cell))
    print(f"{os.cpu_count()} cores\n")
    for what in TIMES:
        print(f"| {what}: threads | one shared, ns | one each, ns | shared over each |")
        print("| ---: " * 4 + "|")
        for n in THREADS:
            shared, own = (np.array(ns[what, n, way]) for way in ("shared", "own"))
            low, high = bootstrap_interval((shared, own), ratio_of_medians, RESAMPLES)
            ratio = f"{ratio_of_medians(shared, own):.2f} [{low:.2f}, {high:.2f}]"
            print(f"| {n} | {np.median(shared):,.0f} | {np.median(own):,.0f} | {ratio} |")
        print()


if __name__ == "__main__":
    main()
