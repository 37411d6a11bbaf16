"""correct/c: c.cpp, float32 with exp and log of its own, compiled once for this machine."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.program import CALLS, Program
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.protocol.arithmetic import Arithmetic

SOURCE = Path(__file__).with_suffix(".cpp")
OPTIONS = ["-std=c++17", "-O2", "-ffp-contract=off"]


def compiled() -> Path:
    """Return the program, compiled on first use. Raises InputError without a compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        raise InputError("correct/c", "needs a C++ compiler", "there is no c++ on the path")
    command = [compiler, *OPTIONS, str(SOURCE)]
    digest = hashlib.sha256("\0".join(command).encode() + SOURCE.read_bytes()).hexdigest()
    program = cache_folder() / "native" / f"correct-{digest[:16]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_suffix(f".{os.getpid()}")  # others may compile it, too
        done = subprocess.run([*command, "-o", str(part)], capture_output=True, text=True)
        if done.returncode:
            raise InputError(SOURCE, f"{compiler} cannot compile it: {done.stderr[-200:]}")
        part.replace(program)
    return program


class Compiled(Program):
    """Sums have eight accumulators, as vector instructions make them."""

    arithmetic = Arithmetic(summation="unknown", exp_ulps=2, stable_sort=True)


class Worker(worker.Worker):
    name = "correct/c"
    samplers = CALLS

    def __init__(self) -> None:
        super().__init__(Compiled([str(compiled())]))
