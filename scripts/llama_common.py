"""Compile libllama-common, which only the tests of common_sampler need; `make setup` runs it once.

scripts/llama_cpp.cmake installs the sources with llama.cpp. Only the files that sampling needs are
compiled, without optimization. The library stands next to libllama in the environment's packages.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PACKAGES = Path(sysconfig.get_paths()["platlib"])
SOURCES = PACKAGES / "lib" / "llama-common"
LIBRARY = PACKAGES / "lib" / "libllama-common.so"

# common_sampler, and what its objects refer to; the files that take longest come first.
FILES = (
    "sampling", "json", "common", "speculative", "reasoning-budget", "fit", "log", "trie",
    "unicode", "ngram-cache", "ngram-map", "ngram-mod",
)  # fmt: skip
FLAGS = ["-std=gnu++17", "-O0", "-DNDEBUG", "-fPIC"]


def main() -> int:
    """Compile and link; return an exit status."""
    if not SOURCES.is_dir():  # a prebuilt llama.cpp, or one that pip has kept
        if not LIBRARY.is_file():
            print("Without a compiled llama.cpp the tests of common_sampler cannot run.")
        return 0
    compiler = (os.environ.get("CXX") or shutil.which("c++") or "g++").split()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = [*(SOURCES / "common" / f"{name}.cpp" for name in FILES), build_info(folder)]
        objects = [f"{folder}/{source.stem}.o" for source in sources]
        commands = [
            [*compiler, *FLAGS, *includes(), "-c", str(source), "-o", compiled]
            for source, compiled in zip(sources, objects, strict=True)
        ]
        return max(pool.map(subprocess.call, commands)) or link(compiler, objects)


def build_info(folder: str) -> Path:
    """Write the file with llama.cpp's build number, which no test reads; return its path."""
    template = (SOURCES / "common" / "build-info.cpp.in").read_text(encoding="utf-8")
    path = Path(folder) / "build-info.cpp"
    path.write_text(template.replace("@LLAMA_BUILD_NUMBER@", "0"), encoding="utf-8")
    return path


def includes() -> list[str]:
    """Return the options that name the folders with headers."""
    return [f"-I{folder}" for folder in (PACKAGES / "include", SOURCES / "common", SOURCES)]


def link(compiler: list[str], objects: list[str]) -> int:
    """Link the library; return the linker's exit status."""
    libraries = [f"-L{LIBRARY.parent}", "-lllama", "-lggml", "-lggml-base", "-Wl,--no-undefined"]
    return subprocess.call([*compiler, "-shared", *objects, "-o", str(LIBRARY), *libraries])


if __name__ == "__main__":
    sys.exit(main())
