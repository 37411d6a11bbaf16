"""C++ of this folder's native/, compiled on the spot for the installed llama.cpp, once.

The library is kept in the user's cache folder under a digest of all that it was made of.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.processes.phase import phase

SOURCES = Path(__file__).parent / "native"
OPTIONS = ["-std=c++17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden"]


def flags() -> list[str]:
    """Return the compiler flags for the installed llama.cpp. Raises InputError."""
    installed = default_folder()
    headers = installed.parent.parent / "include"
    if not (headers / "llama.h").is_file():
        raise InputError(headers / "llama.h", "is not there", "install llama-cpp-python with pip")
    return [f"-I{headers}", f"-L{installed}", "-lllama", f"-Wl,-rpath,{installed}"]


def compiled(file: Path) -> Path:
    """Return the compiled library of a file and the headers in its folder. Raises InputError
    without a compiler or a header of llama.cpp, and with the compiler's error."""
    header = default_folder().parent.parent / "include" / "llama.h"
    return built(file.stem, [file], flags(), [*sorted(file.parent.iterdir()), header])


def built(stem: str, files: list[Path], options: list[str], read: list[Path]) -> Path:
    """Return the library that the compiler makes of files. read: all files that it depends on.
    Raises InputError without a compiler, and with the compiler's error."""
    compiler = shutil.which("c++")
    if compiler is None:
        raise InputError(files[0].name, "needs a C++ compiler", "there is no c++ on the path")
    command = [compiler, *OPTIONS, *map(str, files), *options]
    digest = hashlib.sha256("\0".join(command).encode())
    for path in read:
        digest.update(path.read_bytes())
    library = cache_folder() / "native" / f"{stem}-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        library.parent.mkdir(exist_ok=True)
        part = library.with_suffix(f".{os.getpid()}")  # others may compile it, too
        with phase(f"compiling {files[0].name}"):
            result = subprocess.run(
                [*command, "-o", str(part)], capture_output=True, encoding="utf-8", check=False
            )
        if result.returncode:
            error = next((line for line in result.stderr.splitlines() if "error" in line), "")
            problem = f"{compiler} cannot compile it: {error or result.stderr[-200:]}"
            raise InputError(files[0], problem)
        part.replace(library)
    return library
