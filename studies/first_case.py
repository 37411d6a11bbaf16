"""`python -m studies.first_case`: the processor time of `run` until its first case is judged.

A suite of one case on a backend, so that nothing is done for another. When its record is in the
bundle, the user and system time of each process of the run is read from /proc. Other programs
disturb that less than the time of day, but they do: hence the least of several runs beside their
median. With --against, runs of another checkout's command alternate with ours. Linux only.

What is imported has its byte code, as what pip installs has it; the first run of each writes it.
"""

import argparse
import ctypes
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

SUITE = """
name = "one"
sampler = "top_k"

[[case]]
id = "one"
description = "k = 1 keeps the argmax"
why = "The first token kept instead of the largest."
chain = [{ top_k = { k = 1 } }]
logits = { values = [1.0, 2.0, 0.0] }
expect = { ids = [1] }
"""
_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_S = 0.002
_WAIT_S = 120.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("-b", "--backend", default="llama.cpp")
    parser.add_argument("--against", help="the sampler-parity of another checkout")
    options = parser.parse_args()
    # what its starter leaves behind becomes our child, and is counted
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    programs = [str(Path(sys.executable).parent / "sampler-parity")]
    programs += [options.against] if options.against else []
    seconds: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "one.toml"
        suite.write_text(SUITE)
        for run in range(-1, options.runs):  # the first fills caches
            for program in programs:
                bundle = Path(folder) / f"bundle-{run}-{programs.index(program)}"
                command = [program, "run", str(suite), "-b", options.backend, "-o", str(bundle)]
                of_run = first_case(command, bundle)
                seconds[program] += [of_run] if run >= 0 else []
    for program, runs in seconds.items():
        print(f"{program}: seconds of processor time to the first case, {len(runs)} runs")
        for name in ["all", *runs[0]]:
            times = sorted(sum(run.values()) if name == "all" else run[name] for run in runs)
            print(f"  {name:<12} median {statistics.median(times):.2f}  least {times[0]:.2f}")
    return 0


def first_case(command: list[str], bundle: Path) -> dict[str, float]:
    """Seconds by kind of process, when the first record is written; the run is then ended."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        deadline = time.monotonic() + _WAIT_S
        while not _judged(bundle / "results.jsonl"):
            if run.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"no case was judged: {' '.join(command)}")
            time.sleep(_LOOK_S)
        return _processes(run.pid)
    finally:
        run.send_signal(signal.SIGKILL)  # what it started, its keepers end
        run.wait()
        _reap()


def _judged(results: Path) -> bool:
    """Whether a line stands behind the header."""
    try:
        return results.read_bytes().count(b"\n") > 1
    except OSError:
        return False


def _processes(main: int) -> dict[str, float]:
    """User and system time of all that descends from us, with what it has waited for."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    words: dict[int, list[str]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = (
                Path("/proc", name, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            )
            words[int(name)] = (
                Path("/proc", name, "cmdline").read_text(encoding="utf-8").split("\0")
            )
        except OSError:
            continue  # it has ended
        parents[int(name)] = int(stat[1])
        seconds[int(name)] = sum(map(int, stat[11:15])) / _TICKS
    times: dict[str, float] = defaultdict(float)
    for pid, spent in seconds.items():
        if _descends(pid, parents):
            times[_kind(pid, main, parents[pid], words[pid])] += spent
    return times


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while (pid := parents.get(pid, 0)) > 1:
        if pid == os.getpid():
            return True
    return False


def _kind(pid: int, main: int, parent: int, words: list[str]) -> str:
    if pid == main:
        return "run"
    if any(word.endswith("keeper.py") for word in words):
        return "keepers"
    return "worker" if parent == main else "backend"


def _reap() -> None:
    """Wait for all that became ours."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


if __name__ == "__main__":
    sys.exit(main())
