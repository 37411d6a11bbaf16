"""Install the project and its pinned dependencies into the running virtual environment; with names
of extras, those instead: `python scripts/install.py transformers xgrammar`.

Every file is compared with its digest in locked.txt, or locked-extras/EXTRA.txt (pip's
--require-hashes), before it is unpacked.
Standard library only: it runs before anything is installed. llama-cpp-python is compiled from its
source distribution; its build steps are shown as they pass, because they take minutes. What the
environment says of the build (CMAKE_ARGS, ...) is kept.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
SOURCE = ["--no-binary", "llama-cpp-python"]
OURS = ("reference", "harness", "reports")
STEP = re.compile(rb"\[(\d+)/(\d+)\]")

# Only the libraries that sampling needs are built: no tools, no server, no multimodal part.
BUILD = {
    "CMAKE_ARGS": "-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF"
    " -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF",
    "SKBUILD_BUILD_TARGETS": "llama;ggml;llama-common",
    "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2),
}


def main() -> int:
    if extras := sys.argv[1:]:
        return install_extras(extras)
    locked = (ROOT / "locked.txt").read_text()
    llama, others = divided(locked, "llama-cpp-python")
    for name, value in BUILD.items():
        os.environ.setdefault(name, value)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("llama.txt", llama), ("others.txt", others)):
            (Path(folder) / name).write_text(text)
        command = [*install(Path(folder) / "llama.txt"), "-v", "--no-deps", *SOURCE]
        if code := show_progress(command, "compiling llama.cpp"):
            return code
        if code := subprocess.call([*install(Path(folder) / "others.txt"), "-q", "--no-deps"]):
            return code
    if code := subprocess.call([*PIP, "-q", "--no-deps", "--no-build-isolation", "-e", str(ROOT)]):
        return code
    return write_byte_code()


def write_byte_code() -> int:
    """As pip does of what it copies. Where PYTHONDONTWRITEBYTECODE is set nobody else would, and
    every process would compile what it imports: half a second of each run."""
    folders = [str(ROOT / name) for name in OURS]
    return subprocess.call([sys.executable, "-m", "compileall", "-q", *folders])


def install_extras(extras: list[str]) -> int:
    files = {extra: ROOT / "locked-extras" / f"{extra}.txt" for extra in extras}
    for extra, file in files.items():
        if not file.is_file():
            known = sorted(path.stem for path in file.parent.glob("*.txt"))
            print(f"no extra {extra!r} is locked, only {', '.join(known)}", file=sys.stderr)
            return 2
    for file in files.values():
        if code := subprocess.call([*install(file), "-q", "--no-deps"]):
            return code
    return 0


def install(locked: Path) -> list[str]:
    """The command that installs what a file names, if it has the digests that stand there."""
    return [*PIP, "--require-hashes", "-r", str(locked)]


def divided(locked: str, package: str) -> tuple[str, str]:
    """The entry of one package, and all else."""
    entries = re.split(r"\n(?=[a-zA-Z])", locked)
    own = [entry for entry in entries if entry.startswith(f"{package}==")]
    return "\n".join(own) + "\n", "\n".join(e for e in entries if e not in own) + "\n"


def show_progress(command: list[str], what: str) -> int:
    """Run a build; print its step counter, and everything it said if it fails."""
    said: list[bytes] = []
    shown = -1
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if step := STEP.search(line):
                percent = 100 * int(step[1]) // int(step[2])
                if percent >= shown + (1 if sys.stdout.isatty() else 10):
                    shown = percent
                    end = "\r" if sys.stdout.isatty() else "\n"
                    print(f"{what}: step {step[1].decode()} of {step[2].decode()}", end=end)
                    sys.stdout.flush()
    if process.returncode:
        sys.stdout.buffer.write(b"".join(said[-60:]))
        print(f"{what}: failed; it needs a C++ compiler and cmake", file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
