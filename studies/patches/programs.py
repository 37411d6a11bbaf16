"""The program of a finding (studies/findings), on a patched library."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.llama_cpp.libllama import default_folder
from studies.native.sources import LIBRARY, ROOT
from studies.patches.table import Patch

PROGRAMS = ROOT / "studies" / "findings"
LIBRARIES = "-L PREFIX/lib"  # in the line that compiles a program


def problems(patch: Patch, library: Path) -> list[str]:
    """Return how the finding's program ends otherwise than patches.toml states."""
    source = source_of(patch)
    status, output = ran(source, library)
    found = []
    if status != patch.program:
        found.append(f"{source.name} ends with {status}, expected {patch.program}: {output}")
    for text, times in patch.prints.items():
        if output.count(text) != times:
            found.append(f"{source.name}: {text!r} expected {times} times: {output}")
    return found


def source_of(patch: Patch) -> Path:
    """Return the program of the finding. One finding with two has no patch."""
    (source,) = PROGRAMS.glob(f"finding_{patch.finding:02}_*.cpp")
    return source


def ran(source: Path, library: Path) -> tuple[int, str]:
    """Compile a program in C++ by its third line, in front of a library of build.py, and run it by
    its fourth; return its status and output. Raises CalledProcessError."""
    compiling, running = (
        line.removeprefix("//").strip()
        for line in source.read_text(encoding="utf-8").splitlines()[2:4]
    )
    library = library.resolve()
    line = compiling.replace(source.name, shlex.quote(str(source)))
    line = line.replace(LIBRARIES, f"{shlex.quote(str(library / LIBRARY))} {LIBRARIES}")
    line = line.replace("PREFIX", str(default_folder().parent.parent))
    line = line.replace("SOURCE", str(library / "tree"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(shlex.split(line), cwd=folder, check=True)
        done = subprocess.run(
            shlex.split(running.replace("MODEL.gguf", str(model_path("small")))),
            cwd=folder,
            env={"GGML_NO_BACKTRACE": "1", **os.environ},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=900,
            check=False,
        )
    return done.returncode, done.stdout
