"""Install the project and its pinned dependencies into the running virtual environment.

`python scripts/install.py transformers xgrammar` installs these extras instead. With `--for LINES`,
the names of backends, llama.cpp is left out if none of them needs it.

pip compares every file with its digest in locked.txt, or in locked-extras/EXTRA.txt, before it
unpacks it (--require-hashes). This script uses the standard library alone, because it runs before
anything is installed. It compiles llama-cpp-python from its source distribution and installs
everything else meanwhile. Variables of the environment that control the build (CMAKE_ARGS, ...) are
kept. Without a C++ compiler or cmake it installs a prebuilt llama.cpp instead.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
SOURCE = ["--no-binary", "llama-cpp-python"]
OURS = (
    "reference",
    "harness",
    "reports",
    "programs",
    "functions",
    "vectors",
    "maintenance",
    "engines",
)
LLAMA = Path(sys.prefix) / "llama"

# A chain whose samplers use what Numba compiles: sorts, sums, exponentials, draws.
WARM_UP = """
import numpy
from sampler_parity.reference import Candidates, build_chain

filters = [{name: {"p": 0.9}} for name in ("typical_p", "top_p", "min_p")]
for k in (10, 900):
    chain = [{"top_k": {"k": k}}, *filters, {"temp": {"temp": 0.8}}, {"dist": {"seed": 1}}]
    build_chain(chain).apply(Candidates.from_logits(numpy.linspace(-9, 9, 2000)))
"""
STEP = re.compile(rb"\[(\d+)/(\d+)\]")

# The reference, a command of the user, or a build of theirs. Another alias may name our llama.cpp.
WITHOUT_LLAMA = re.compile(r"reference(@\S+)?|[^=\s]+=.* .*|([^=\s]+=)?llama\.cpp@\S*[/\\]\S*")

# Only the libraries that sampling needs are built: no tools, no server, no multimodal part.
BUILD = {
    "CMAKE_ARGS": "-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF"
    " -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF",
    "SKBUILD_BUILD_TARGETS": "llama;ggml",
    "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2),
}

# Packages with a prebuilt llama.cpp, the best first, and the release that each holds.
PREBUILT = {"node-llama-cpp@3.22.1": "v0.5.0", "xllamacpp@2026.10.11549": "b11549"}


def main() -> int:
    """Install everything, or the extras that the command line names; return an exit status."""
    option, *named = sys.argv[1:] or [""]
    if option and option != "--for":
        return install_extras([option, *named])
    only = bool(named) and needs_no_llama(named[0])
    missing = [] if only else missing_programs()
    llama, others = divided((ROOT / "locked.txt").read_text(encoding="utf-8"), "llama-cpp-python")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        rest = pool.submit(install_others, write(Path(folder) / "others.txt", others))
        if only:
            print("No backend needs llama.cpp, so it is not compiled.", flush=True)
            return rest.result()
        code = 0 if missing else compile_llama(write(Path(folder) / "llama.txt", llama))
        return code or rest.result() or use_prebuilt(missing)


def needs_no_llama(backends: str) -> bool:
    """Return whether all named backends, one a line, run without llama.cpp."""
    names = [name.strip() for name in backends.split("\n") if name.strip()]
    return bool(names) and all(WITHOUT_LLAMA.fullmatch(name) for name in names)


def missing_programs() -> list[str]:
    """Return which programs that compiling needs are not there.

    On Windows and macOS cmake looks for the compiler in places of its own.
    """
    compilers = [os.environ.get("CXX", ""), "c++", "g++", "clang++"]
    compiler = sys.platform != "linux" or any(shutil.which(c.split(" ")[0]) for c in compilers if c)
    named = [] if compiler else ["a C++ compiler"]
    return named if shutil.which("cmake") else [*named, "cmake"]


def write(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.write_text(text, encoding="utf-8")
    return path


def compile_llama(locked: Path) -> int:
    """Compile and install llama-cpp-python; return pip's exit status."""
    print("Compiling llama.cpp: two to five minutes on two cores.", flush=True)
    for name, value in BUILD.items():
        os.environ.setdefault(name, value)
    hook = (ROOT / "scripts" / "llama_cpp.cmake").as_posix()
    os.environ["CMAKE_ARGS"] += " " + shlex.quote(f"-DCMAKE_PROJECT_INCLUDE={hook}")
    return show_progress([*install(locked), "-v", "--no-deps", *SOURCE], "compiling llama.cpp")


def install_others(locked: Path) -> int:
    """Install the other packages and the project; return the first exit status that is not 0."""
    packages = [*install(locked), "-q", "--no-deps"]
    project = [*PIP, "-q", "--no-deps", "--no-build-isolation", "-e", str(ROOT)]
    return subprocess.call(packages) or subprocess.call(project) or write_byte_code() or warm_up()


def use_prebuilt(missing: list[str]) -> int:
    """Write which llama.cpp `make parity` runs, and register a prebuilt one if it must be that.

    LLAMA holds the options of `run`: none for the compiled llama.cpp.
    """
    if not missing:
        LLAMA.unlink(missing_ok=True)
        return 0
    program = str(Path(sys.executable).with_name("sampler-parity"))
    for package, release in PREBUILT.items():
        done = subprocess.run(
            [program, "builds", "add", package], capture_output=True, encoding="utf-8"
        )
        if done.returncode == 0:
            print(
                f"Without {' and '.join(missing)}: llama.cpp {release}, prebuilt, from {package}."
            )
            LLAMA.write_text(f"-b llama.cpp@{release} --reference own\n", encoding="utf-8")
            return 0
        print(f"{package}: {done.stderr.strip()}", file=sys.stderr)
    print(f"Install {' and '.join(missing)}: no prebuilt llama.cpp is available", file=sys.stderr)
    return 2


def write_byte_code() -> int:
    """Compile the project's modules to byte code, as pip does with the files that it copies.

    With PYTHONDONTWRITEBYTECODE nothing else writes it, and every process would compile each module
    that it imports: half a second of each run.
    """
    folders = [str(ROOT / name) for name in OURS]
    return subprocess.call([sys.executable, "-m", "compileall", "-q", *folders])


def warm_up() -> int:
    """Let Numba compile the reference while llama.cpp compiles, so that the first run need not."""
    return subprocess.call([sys.executable, "-c", WARM_UP])


def install_extras(extras: list[str]) -> int:
    """Install extras from their lock files; return an exit status."""
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
    """Return the command that installs the packages of a file and requires their digests."""
    return [*PIP, "--require-hashes", "-r", str(locked)]


def divided(locked: str, package: str) -> tuple[str, str]:
    """Return the entry of one package, and all others."""
    entries = re.split(r"\n(?=[a-zA-Z])", locked)
    own = [entry for entry in entries if entry.startswith(f"{package}==")]
    return "\n".join(own) + "\n", "\n".join(e for e in entries if e not in own) + "\n"


def show_progress(command: list[str], what: str) -> int:
    """Run a build; print its step counter, and the end of its output if it fails."""
    output: list[bytes] = []
    shown = -1
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if step := STEP.search(line):
                percent = 100 * int(step[1]) // int(step[2])
                if percent >= shown + (1 if sys.stdout.isatty() else 10):
                    shown = percent
                    end = "\r" if sys.stdout.isatty() else "\n"
                    print(f"{what}: step {step[1].decode()} of {step[2].decode()}", end=end)
                    sys.stdout.flush()
    if process.returncode:
        sys.stdout.buffer.write(b"".join(output[-60:]))
        print(f"{what}: failed", file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
