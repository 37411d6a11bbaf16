"""Measure what the recorder costs: `python -m studies.recorder_cost [ROUNDS [TOKENS]]`.

A program in C++ generates with llama-server's default chain. It runs twice at once: without the
recorder, and with it. Both take turns, in an order drawn anew for each round, so that a round is
a fraction of a second and what else the machine does meets both. The figures are ratios of the
seconds of a round to those without the recorder: the median with its 95% interval (bootstrap).
They are of the clock, of the processor's time of the thread, and of that of the process, which
has the recorder's own thread. And the bytes for each token. Finished files of arrays are removed
after each round, as `--keep` does: how fast the disk is, is not measured.
"""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.random_model import random_128256_path
from sampler_parity.harness.llama_cpp.compiled import flags
from sampler_parity.harness.recording.library import recorder
from sampler_parity.harness.recording.program import Options, variables

DETAILS = ("tokens", "survivors", "stages")
TIMES = ("elapsed", "thread", "process")
WARM_UP = 3  # rounds


def main() -> None:
    rounds, tokens = (int(word) for word in (*sys.argv[1:], "200", "25")[:2])
    models = {"small": model_path(GOLDEN), "random-128256": random_128256_path()}
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch) / "speed"
        source = Path(__file__).with_name("recorder_speed.cpp")
        options = [*flags(), "-lggml", "-lggml-base", "-o", str(binary)]
        subprocess.run(["c++", "-std=c++17", "-O2", str(source), *options], check=True)
        for name, model in models.items():
            print(f"{name}, {rounds} rounds of {tokens} tokens")
            words = [str(binary), str(model), str(tokens)]
            for detail in DETAILS:
                measure(Path(scratch) / name / detail, words, detail, rounds)


def measure(folder: Path, words: list[str], detail: str, rounds: int) -> None:
    """Print a line for a detail."""
    order, tokens = random.Random(1), int(words[-1])
    seconds: dict[str, list[list[float]]] = {"none": [], detail: []}
    size = 0
    with ExitStack() as stack:
        programs = {
            name: stack.enter_context(started(folder / name, name, words)) for name in seconds
        }
        for _ in range(WARM_UP + rounds):
            for name in order.sample(list(seconds), 2):
                seconds[name].append(one_round(programs[name]))
            for old in sorted((folder / detail).glob("*.arrays"))[:-1]:
                size += old.stat().st_size
                old.unlink()
    plain, recorded = (np.array(seconds[name])[WARM_UP:] for name in ("none", detail))
    ms = 1000 * np.median(plain[:, 0]) / tokens
    ratios = np.log(recorded / plain).T
    shown = [f"{name} {interval(one)}" for name, one in zip(TIMES, ratios, strict=True)]
    size += sum(f.stat().st_size for f in (folder / detail).iterdir() if "model" not in f.name)
    each = f"{size / tokens / (rounds + WARM_UP):,.0f} bytes a token"
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"  {detail:9} of {ms:.2f} ms  {'  '.join(shown)}  {each}; {load}", flush=True)


@contextmanager
def started(folder: Path, detail: str, words: list[str]) -> "Iterator[subprocess.Popen[str]]":
    """Run the program with the recorder at a detail, or without; end it at the end."""
    folder.mkdir(parents=True)
    options = Options(detail=detail) if detail != "none" else None  # type: ignore[arg-type]
    given = variables(folder, options, recorder()) if options else {}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=given, stdin=pipe, stdout=pipe, encoding="utf-8") as program:
        yield program
        assert program.stdin
        program.stdin.close()


def one_round(program: "subprocess.Popen[str]") -> list[float]:
    """Let the program generate, and return what it prints."""
    assert program.stdin
    assert program.stdout
    program.stdin.write("\n")
    program.stdin.flush()
    return [float(word) for word in program.stdout.readline().split()]


def interval(logs: "np.ndarray[Any, np.dtype[np.float64]]") -> str:
    """Return the median of ratios with its 95% interval. logs: the logarithm of each."""
    found = stats.bootstrap((logs,), np.median, rng=1, method="percentile").confidence_interval
    ratio, low, high = np.exp([np.median(logs), found.low, found.high])
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
