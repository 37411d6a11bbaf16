"""C++ programs of tests/programs/recording/programs, compiled once, for tests of the recorder."""

import subprocess
from pathlib import Path

from sampler_parity.harness.llama_cpp.compiled import flags

PROGRAMS = Path(__file__).resolve().parent.parent / "programs" / "recording" / "programs"


def compile_program(name: str, binary: Path, *options: str) -> Path:
    """Compile a program; return it."""
    command = ["c++", "-std=c++17", "-O1", str(PROGRAMS / f"{name}.cpp"), "-o", str(binary)]
    command += [*flags(), "-lggml", "-lggml-base", "-pthread", *options]
    subprocess.run(command, check=True)
    return binary
