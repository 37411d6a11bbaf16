"""`python -m studies.wrong_everywhere`: the time of a run on a backend that fails every case.

The quick profile on llama.cpp, and on llama.cpp with one added to every logit that it returns, in
turn, so that other programs disturb both alike. Prints the wall times and the ratio of their sums,
which must stay below 2 (docs/results/reports.md). Few of hundreds of failed cases are minimized.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from typing import Any

from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol.serve import run_worker

LARGEST = 2.0


class Wrong(Worker):
    """Every logit that it returns is one too large."""

    def result(self, candidates: NativeCandidates) -> tuple[Any, Any, Any, bool | None, int]:
        ids, logits, p, is_sorted, selected = super().result(candidates)
        return ids, logits + 1, p, is_sorted, selected


def seconds_of(kind: str, suites: list[str]) -> float:
    """Return the wall time of a run, with its start and its summary."""
    backend = f"{kind}={sys.executable} -m studies.wrong_everywhere --worker {kind}"
    with tempfile.TemporaryDirectory() as folder:
        command = ["sampler-parity", "run", *suites, "-b", backend, "-q", "-o", f"{folder}/b"]
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        seconds = time.monotonic() - start
    if done.returncode != (kind == "wrong"):
        raise SystemExit(f"the run on {kind} ended with {done.returncode}:\n{done.stdout}")
    print(f"{kind:<6} {seconds:6.1f} s   {done.stdout.partition(chr(10))[0]}", flush=True)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="*", default=["parity"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--worker", choices=("right", "wrong"))
    asked = parser.parse_args()
    if asked.worker:
        run_worker(Wrong if asked.worker == "wrong" else Worker)
        return 0
    total = {"right": 0.0, "wrong": 0.0}
    for _ in range(asked.rounds):
        for kind in total:
            total[kind] += seconds_of(kind, asked.suites)
    ratio = total["wrong"] / total["right"]
    print(f"ratio of {asked.rounds} rounds each: {ratio:.2f}, at most {LARGEST:g}")
    return int(ratio > LARGEST)


if __name__ == "__main__":
    sys.exit(main())
