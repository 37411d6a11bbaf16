"""Wheels of Python packages that link llama.cpp into their extension and export its C interface.

pip fetches them. The extension is checked against the wheel's own record and becomes libllama.so in
the build's folder. Nothing of the wheel is imported or installed.
"""

import base64
import csv
import hashlib
import io
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of

# package -> its extension in the wheel
EXTENSIONS = {"xllamacpp": "xllamacpp/xllamacpp.abi3.so"}

# The measurements hold for exactly these files.
SHA256 = {
    "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl": (
        "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261"
    )
}


def release_of(package: str, version: str) -> str:
    """Return b11549 for xllamacpp 2026.10.11549: the last number is the build. Raises
    InputError."""
    match = re.fullmatch(r"\d{4}\.\d{1,2}\.(\d{4,6})(\.post\d+)?", version)
    if match is None:
        problem = "does not report its release of llama.cpp"
        raise InputError(f"{package}@{version}", problem, "write one as 2026.10.11549")
    return f"b{match[1]}"


def fetch(package: str, version: str, folder: Path) -> tuple[Path, Path]:
    """Return the wheel, and a folder with its libllama. Raises InputError."""
    if platform.system() != "Linux":
        raise InputError(
            package, "its wheels are taken on Linux only", "use node-llama-cpp@VERSION"
        )
    wheel = _download(f"{package}=={version}", folder)
    if SHA256.get(wheel.name, sha256_of(wheel)) != sha256_of(wheel):
        raise InputError(wheel.name, "is not the wheel that was measured: another SHA-256")
    library = folder / "made" / "libllama.so"
    library.parent.mkdir()
    library.write_bytes(extension(wheel, EXTENSIONS[package]))
    return wheel, library.parent


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        result = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600)
    except subprocess.TimeoutExpired:
        raise InputError(requirement, "pip took more than ten minutes") from None
    wheels = list(folder.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR: ")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else f"exit status {result.returncode}"
    raise InputError(
        requirement, f"pip cannot fetch it: {reason}", f"try `pip download {requirement}`"
    )


def extension(wheel: Path, name: str) -> bytes:
    """Return a file of a wheel. Raises InputError if its digest differs from the wheel's record."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            (record,) = (n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
            rows = csv.reader(io.TextIOWrapper(archive.open(record), "utf-8"))
            digests = {row[0]: row[1] for row in rows if len(row) > 1}
            data = archive.read(name)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        problem = f"holds no {name}: {error}"
        raise InputError(wheel.name, problem, "fetch it again, or use another version") from None
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    if digests.get(name) != f"sha256={digest}":
        raise InputError(wheel.name, f"{name} does not match its record", "fetch it again")
    return data
