"""The machine of a run, recorded in run.json: results may differ by processor and libm."""

import functools
import hashlib
import os
import platform
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a command that only reads the cache must not wait for the models
    from sampler_parity.harness.bundle.info import MachineInfo

_ROOT = Path(__file__).parents[2]
_CODE = (".py", ".js", ".mjs", ".json", ".toml")
_PACKAGES = ("sampler-parity", "numpy", "numba", "llvmlite", "scipy", "gguf", "llama-cpp-python")


def describe(state: Mapping[str, Any] | None = None) -> "MachineInfo":
    """Return the machine. state: `deciding()`, if the caller has it."""
    from sampler_parity.harness.bundle.info import MachineInfo  # as above

    return MachineInfo(
        system=f"{platform.system()} {platform.release()}",
        cores=os.cpu_count() or 1,
        memory_bytes=_memory(),
        **(deciding() if state is None else state),
    )


def deciding() -> dict[str, Any]:
    """Return the fields of MachineInfo that may decide what is computed."""
    cpu, flags = _cpu()
    return {
        "machine": platform.machine(),
        "cpu": cpu,
        "cpu_flags": flags,
        "libc": " ".join(platform.libc_ver()),
        "libm": _libm(),
        "driver": _driver(),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in _PACKAGES},
        "code": digest_of_code(),
        "suites": _digest("suites"),
    }


def digest_of_code() -> str:
    return _digest("reference", "harness", "programs", "maintenance")


def digest_of_engines() -> str:
    """Return the digest of engines, whose files add lines to suites, and of the golden fixtures."""
    return _digest("engines", "golden")


def _digest(*folders: str) -> str:
    """Return the digest of the files that decide what is computed, by name and content.

    Names are text here: 1,400 Path objects take longer than to read the files.
    """
    digest = hashlib.sha256()
    for name in sorted(name for folder in folders for name in _own_files(f"{_ROOT / folder}")):
        digest.update(name.removeprefix(f"{_ROOT}{os.sep}").replace(os.sep, "/").encode())
        with open(name, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def _own_files(folder: str) -> Iterator[str]:
    for name, below, files in os.walk(folder):
        if "node_modules" in below:
            below.remove("node_modules")
        yield from (f"{name}{os.sep}{file}" for file in files if file.endswith(_CODE))


def _cpu() -> tuple[str, list[str]]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor(), []
    facts: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags") or facts.get("Features") or ""
    return facts.get("model name", platform.machine()), sorted(flags.split())


def _libm() -> str:
    """Return the math library of this process: its exp, log and pow decide last bits."""
    maps = Path("/proc/self/maps")
    text = maps.read_text(encoding="utf-8") if maps.exists() else ""
    line = re.search(r"/\S*/libm[.-]\S*$", text, re.MULTILINE)
    if line is None or not Path(line[0]).is_file():
        return ""
    path = Path(line[0])
    return f"{path.name} sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"


def _driver() -> str:
    path = Path("/proc/driver/nvidia/version")
    return path.read_text(encoding="utf-8").splitlines()[0] if path.is_file() else ""


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


@functools.cache
def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
