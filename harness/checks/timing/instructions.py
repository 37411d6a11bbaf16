"""Count the instructions of one application of a chain; the load of the machine does not change
them.

They are counted by `perf stat` if the processor's counters can be read, else by valgrind's
callgrind, in a small program without NumPy (harness/checks/timing/count_applications.py). Two runs
that differ only in the number of applications are subtracted. The rest of Python is one call
through ctypes.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.backends import engines
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.build_files import check, needed_libraries
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.signatures import ARGUMENTS, signature
from sampler_parity.reference.chronology import NEWEST

APPLICATIONS = 16  # of the second run beyond those of the first: starting and ending cancel
_TIMEOUT_S = 600
_PROGRAM = Path(__file__).parent / "count_applications.py"


def counted(result: TimingResult, timed: TimedChain) -> TimingResult:
    """Return the result with the instructions of its native backends, and why others have none."""
    counts: dict[str, int] = {}
    missing: dict[str, str] = {}
    for name in result.ns:
        try:
            counts[name] = count(name, timed)
        except (InputError, Unsupported) as error:
            missing[name] = f"instructions not counted: {error}"
    return result.model_copy(update={"instructions": counts, "uncounted": missing})


def count(backend: str, timed: TimedChain) -> int:
    """Count one application. Raises Unsupported if it cannot be counted here or for this chain."""
    tool = counter()
    folder, release = _build(backend)
    chain = complete(timed.instead.get(backend, timed.chain), timed.logits.n)
    stages = [
        _stage(name, parameters, release) for stage in chain for name, parameters in stage.items()
    ]
    with tempfile.TemporaryDirectory() as temporary:
        row = timed.row()
        data = np.zeros(len(row), TOKEN_DATA)
        data["id"], data["logit"] = np.arange(len(row)), row
        candidates = Path(temporary) / "candidates"
        candidates.write_bytes(data.tobytes())
        job = {
            "needed": [str(path) for path in needed_libraries(folder)],
            "library": str(check(folder)),
            "stages": stages,
            "history": timed.history,
            "candidates": str(candidates),
            # as many in both runs, so that their difference leaves out the preparation
            "prepared": 1 + APPLICATIONS,
        }
        runs = [
            _run(tool, Path(temporary), job | {"applications": n}) for n in (1, 1 + APPLICATIONS)
        ]
    return round((runs[1] - runs[0]) / APPLICATIONS)


@functools.cache
def counter() -> tuple[str, ...]:
    """Return the command that counts. Raises Unsupported with the reason if none works here."""
    reasons = []
    perf = ("perf", "stat", "-x,", "-e", "instructions:u", "--")
    if shutil.which("perf"):
        tried = subprocess.run([*perf, "true"], capture_output=True, encoding="utf-8", check=False)
        if re.match(r"\d+,", tried.stderr):
            return perf
        reasons.append("perf reads no instruction counter here")
    else:
        reasons.append("perf is not installed")
    if shutil.which("valgrind"):
        return ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    raise Unsupported(f"{', '.join(reasons)}, valgrind is not installed")


def _run(tool: tuple[str, ...], folder: Path, job: dict[str, Any]) -> int:
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    python = os.path.realpath(sys.executable)
    completed = subprocess.run(
        [*tool, python, "-S", "-s", str(_PROGRAM), str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=_TIMEOUT_S,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"},  # the same hashes
        check=False,
    )
    match = re.search(r"Collected : (\d+)|^(\d+),", completed.stderr, re.MULTILINE)
    if completed.returncode != 0 or match is None:
        last = next(iter(completed.stderr.strip().splitlines()[-1:]), "no word")
        raise Unsupported(f"{tool[0]} ended with status {completed.returncode}: {last}")
    return int(match[1] or match[2])


def _build(backend: str) -> tuple[Path, str]:
    """Return the folder and release of a build of llama.cpp."""
    build = engines.parse(backend)
    if build is None or build.engine != "llama.cpp":
        raise Unsupported("only builds of llama.cpp")
    if not build.of:
        return default_folder(), NEWEST
    folder, release, *_ = builds.worker_arguments(build.of)
    return Path(folder), release or NEWEST


def _stage(
    name: str, parameters: dict[str, Any], release: str
) -> tuple[str, list[tuple[str, Any]]]:
    taken = signature(name, release)
    kinds = [ARGUMENTS[argument].__name__ for argument in taken.arguments]
    simple = {"c_int", "c_uint", "c_float", "c_ulong", "c_bool"}
    if not simple.issuperset(kinds) or not set(taken.arguments) <= parameters.keys():
        raise Unsupported(f"{name} takes a vocabulary or arrays")
    return taken.symbol, [
        (kind, parameters[argument]) for kind, argument in zip(kinds, taken.arguments, strict=True)
    ]
