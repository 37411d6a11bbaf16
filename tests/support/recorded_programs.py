"""C++ programs of tests/programs/recording/programs, compiled once, for tests of the recorder."""

import subprocess
from pathlib import Path

from sampler_parity.harness.llama_cpp.compiled import built, flags
from sampler_parity.programs.recording.check import BACKEND, Checked, check

PROGRAMS = Path(__file__).resolve().parent.parent / "programs" / "recording" / "programs"


def compile_program(name: str, binary: Path, *options: str) -> Path:
    command = ["c++", "-std=c++17", "-O1", str(PROGRAMS / f"{name}.cpp"), "-o", str(binary)]
    command += [*flags(), "-lggml", "-lggml-base", "-pthread", *options]
    subprocess.run(command, check=True)
    return binary


def judged(recording: Path) -> tuple[Checked, set[str]]:
    """Check a recording; return what was judged, and the stages at which chains first differ."""
    checked, _ = check(recording, recording / "checked", "identical", None)
    results = [result.backends[BACKEND] for result in checked.results]
    return checked, {one.stage for one in results if one.verdict not in ("identical", "skipped")}


def between(name: str, folder: Path = PROGRAMS.parent) -> Path:
    """Compile a library that comes between a program and the libraries that it calls."""
    source = folder / f"{name}.cpp"
    return built(name, [source], ["-fvisibility=default", "-ldl"], [source])
