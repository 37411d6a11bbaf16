"""llama.cpp's sources from the pinned llama-cpp-python."""

import re
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import extract
from sampler_parity.harness.inputs.cache_folder import cache_folder

PACKAGE = "llama_cpp_python==0.3.36"  # as locked.txt pins it
_MEMBER = re.compile(r"[^/]+/vendor/llama\.cpp/(src|include|ggml/include|common|vendor)/.*")
SAMPLER, GRAMMAR = "src/llama-sampler.cpp", "src/llama-grammar.cpp"


def sources() -> Path:
    """Return the folder llama.cpp of the package's source distribution, fetched and unpacked once.
    Raises InputError if pip cannot fetch it."""
    pinned = PACKAGE
    folder = cache_folder() / "native" / pinned.replace("==", "-")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            unpacked = _unpack(_fetch(pinned, Path(temporary)), Path(temporary) / "unpacked")
            with suppress(OSError):  # another process was first
                unpacked.rename(folder)
    if not folder.is_dir():
        raise InputError(folder, "cannot be written")
    return folder


def _fetch(pinned: str, folder: Path) -> Path:
    """Fetch with pip, which asks a source distribution for its metadata: about a minute."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
    command += ["--no-deps", "--no-binary", ":all:", "-d", str(folder), pinned]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    archives = list(folder.glob("*.tar.gz"))
    if result.returncode or len(archives) != 1:
        reason = (result.stderr.strip().splitlines() or ["nothing came"])[-1]
        raise InputError(pinned, f"pip cannot fetch its sources: {reason}")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        members = [member for member in tar if _MEMBER.fullmatch(member.name)]
        extract(tar, folder, members)
    (unpacked,) = folder.glob("*/vendor/llama.cpp")
    return unpacked
