"""Measure what the recorder costs: `python -m studies.recorder_cost [ROUNDS]`.

A program in C++ generates with llama-server's default chain, without the recorder and at each
detail, in turn. The figures are ratios of the seconds of a round, with the 95% interval of their
mean over the rounds (of the logarithms, Student's t), and the bytes for each token. On a machine
with other work only the processor's time means something: of the thread, and of the process with
the recorder's own thread.
"""

import os
import subprocess
import sys
import tempfile
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
TOKENS = {"small": 400, "random-128256": 200}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    models = {"small": model_path(GOLDEN), "random-128256": random_128256_path()}
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch) / "speed"
        source = Path(__file__).with_name("recorder_speed.cpp")
        options = [*flags(), "-lggml", "-lggml-base", "-o", str(binary)]
        subprocess.run(["c++", "-std=c++17", "-O2", str(source), *options], check=True)
        for name, model in models.items():
            measure(Path(scratch) / name, [str(binary), str(model)], TOKENS[name], rounds)


def measure(folder: Path, words: list[str], tokens: int, rounds: int) -> None:
    """Print a line for each detail."""
    library = recorder()
    seconds: dict[str, list[list[float]]] = {detail: [] for detail in ("none", *DETAILS)}
    size = {}
    for number in range(rounds):
        for detail in seconds:
            place = folder / f"{detail}-{number}"
            place.mkdir(parents=True)
            options = Options(detail=detail) if detail != "none" else None  # type: ignore[arg-type]
            given = variables(place, options, library) if options else {}
            done = subprocess.run(
                [*words, str(tokens)], env=given, capture_output=True, check=True, encoding="utf-8"
            )
            seconds[detail].append([float(word) for word in done.stdout.split()])
            used = [file for file in place.iterdir() if "model" not in file.name]
            size[detail] = sum(file.stat().st_size for file in used) / tokens
            for file in place.iterdir():
                file.unlink()
    plain = np.array(seconds["none"])
    median = 1000 * np.median(plain[:, 0]) / tokens
    load = os.getloadavg()[0]
    print(f"{folder.name}: {median:.3g} ms a token without the recorder; load {load:.1f}")
    for detail in DETAILS:
        ratios = np.log(np.array(seconds[detail]) / plain).T
        shown = [f"{name} {interval(one)}" for name, one in zip(TIMES, ratios, strict=True)]
        print(f"  {detail:9} {'  '.join(shown)}  {size[detail]:,.0f} bytes a token", flush=True)


def interval(logs: "np.ndarray[Any, np.dtype[np.float64]]") -> str:
    """Return the mean of ratios with its 95% interval. logs: the logarithm of each."""
    low, high = stats.t.interval(0.95, len(logs) - 1, logs.mean(), stats.sem(logs))
    ratio, low, high = np.exp([logs.mean(), low, high])
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
