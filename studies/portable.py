"""The cost of harness/llama_cpp/platforms/portable.patch on this machine, chain by chain.

    python -m studies.portable [ROUNDS]

llama-sampler.cpp is compiled twice, as it is and patched, each into a libllama of its own that
takes all else from the installed llama.cpp. Both, and the installed one, are timed in one
interleaved run (docs/background/timing.md) on the chains of suites/timing; ratios are
patched : unpatched.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.checks.timing.record import TimingResult
from sampler_parity.harness.checks.timing.verdict import compare_backends
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.platforms.recipes import ROUNDED_TWICE, patched
from sampler_parity.harness.llama_cpp.sources import SAMPLER, sources
from sampler_parity.reference.chronology import NEWEST

# As CMake's Release compiles libllama. Aligned: else a loop that nobody changed (greedy's) may take
# 0.7 of its time in one of two builds, by where it lies.
OPTIONS = ("-std=gnu++17", "-O3", "-DNDEBUG", "-fPIC", "-shared", "-Wno-deprecated-declarations")
ALIGNED = ("-falign-functions=64", "-falign-loops=64", "-falign-jumps=32")
SUITES = ("timing/samplers", "timing/engines")
EFFECT = 0.05


def libllama(sampler: Path, folder: Path, *options: str) -> None:
    """Build a libllama of this sampler file, in front of the installed llama.cpp."""
    folder.mkdir()
    for library in default_folder().glob("lib*.so*"):
        if library.name != "libllama.so":
            shutil.copy(library, folder)
    includes = [f"-I{sources() / place}" for place in ("include", "src", "ggml/include")]
    links = [f"-L{folder}", "-l:libllama.so.0", "-l:libggml-base.so.0", "-Wl,-rpath,$ORIGIN"]
    links += ["-o", str(folder / f"libllama.{NEWEST}.so")]
    subprocess.run(
        ["g++", *OPTIONS, *ALIGNED, *options, *includes, str(sampler), *links], check=True
    )


def timed(folder: Path, rounds: int) -> list[TimingResult]:
    """Return one run of unpatched, patched and installed."""
    (folder / "source").mkdir()
    libllama(sources() / SAMPLER, folder / "before")
    libllama(patched(folder / "source"), folder / "after", ROUNDED_TWICE)
    backends = [f"before=llama.cpp@{folder}/before", f"portable=llama.cpp@{folder}/after"]
    command = [sys.executable, "-m", "sampler_parity.harness.cli", "run", *SUITES]
    command += ["--rounds", str(rounds), "-o", str(folder / "bundle")]
    command += [word for name in (*backends, "llama.cpp") for word in ("-b", name)]
    subprocess.run(command, check=True)
    return read_finished(folder / "bundle").timings


def lines(results: list[TimingResult]) -> list[str]:
    """Return a table, the largest ratio first."""
    rows = []
    for result in results:
        ours, same = (compare_backends(result, name, EFFECT) for name in ("portable", "llama.cpp"))
        microseconds = min(result.ns["before"]) / 1000
        cells = [
            f"{microseconds:,.1f}",
            *(f"{c.ratio:.2f} [{c.low:.2f}, {c.high:.2f}]" for c in (ours, same)),
            ours.verdict,
        ]
        rows.append((ours.ratio, f"| {result.id.removeprefix('timing/')} | {' | '.join(cells)} |"))
    head = ["| chain | unpatched, us | patched : unpatched | installed : unpatched | |"]
    head += ["| --- " + "| ---: " * 3 + "| --- |"]
    return head + [row for _, row in sorted(rows, reverse=True)]


def main() -> None:
    parser = argparse.ArgumentParser("studies.portable", description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=40)
    with tempfile.TemporaryDirectory() as temporary:
        print("\n".join(lines(timed(Path(temporary), parser.parse_args().rounds))))


if __name__ == "__main__":
    main()
