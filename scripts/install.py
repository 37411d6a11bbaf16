"""Install the project and its pinned dependencies into the running virtual environment.

Standard library only: it runs before anything is installed. llama-cpp-python is compiled from its
source distribution; its build steps are shown as they pass, because they take minutes. What the
environment says of the build (CMAKE_ARGS, ...) is kept.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
STEP = re.compile(rb"\[(\d+)/(\d+)\]")

# Only the libraries that sampling needs are built: no tools, no server, no multimodal part.
BUILD = {
    "CMAKE_ARGS": "-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF"
    " -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF",
    "SKBUILD_BUILD_TARGETS": "llama;ggml;llama-common",
    "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2),
}


def main() -> int:
    constraints = ["-c", str(ROOT / "constraints.txt")]
    llama = next(
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.startswith("llama_cpp_python")
    )
    compile_llama = [*PIP, "-v", "--no-binary", "llama-cpp-python", *constraints, llama]
    for name, value in BUILD.items():
        os.environ.setdefault(name, value)
    if code := show_progress(compile_llama, "compiling llama.cpp"):
        return code
    return subprocess.call([*PIP, "-q", *constraints, "-e", f"{ROOT}[dev]"])


def show_progress(command: list[str], what: str) -> int:
    """Run a build; print its step counter, and everything it said if it fails."""
    said: list[bytes] = []
    shown = -1
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            found = STEP.search(line)
            if found:
                percent = 100 * int(found[1]) // int(found[2])
                if percent >= shown + (1 if sys.stdout.isatty() else 10):
                    shown = percent
                    end = "\r" if sys.stdout.isatty() else "\n"
                    print(f"{what}: step {found[1].decode()} of {found[2].decode()}", end=end)
                    sys.stdout.flush()
    if process.returncode:
        sys.stdout.buffer.write(b"".join(said[-60:]))
        print(f"{what}: failed; it needs a C++ compiler and cmake", file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
