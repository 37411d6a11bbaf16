"""A libllama of which some files are compiled again."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.sources import GRAMMAR, SAMPLER, sources

__all__ = ["GRAMMAR", "SAMPLER", "build", "compiled", "sources"]

ROOT = Path(__file__).resolve().parents[2]
COMMON, BUDGET = "common/sampling.cpp", "common/reasoning-budget.cpp"
# its name has the release: the file does not hold llama_version(), which the library behind it has
LIBRARY = "libllama.v0.5.0.so"
# as CMake's Release, but for the optimization
COMPILER = ["g++", "-std=gnu++17", "-DNDEBUG", "-fPIC"]
INCLUDES = ("include", "src", "ggml/include", "common", "vendor")


def compiled(folder: Path, files: Iterable[Path], options: list[str], tree: Path) -> list[Path]:
    """Compile these files and return their objects. tree: where headers are.

    Raises CalledProcessError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{tree / place}" for place in INCLUDES]
    objects = []
    for file in files:
        objects.append(folder / f"{file.stem}.o")
        subprocess.run(
            [*COMPILER, *options, *includes, "-c", str(file), "-o", str(objects[-1])],
            check=True,
            capture_output=True,
            encoding="utf-8",
        )
    return objects


def build(folder: Path, files: Iterable[Path], options: list[str], tree: Path) -> Path:
    """Build a libllama that has these files' functions in front of the installed ones.

    Returns its folder. tree: where headers are. Raises CalledProcessError.
    """
    objects = compiled(folder, files, options, tree)
    installed = default_folder()
    libraries = ["-l:libllama.so.0", "-l:libggml.so.0", "-l:libggml-base.so.0"]
    subprocess.run(
        [
            "g++", *options, "-shared", *map(str, objects), "-o", str(folder / LIBRARY),
            f"-L{installed}", f"-Wl,-rpath,{installed}", *libraries,
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return folder
