"""What a run ran on: recorded in run.json, because results may differ by processor and libm."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.results import Machine

_PACKAGES = ("sampler-parity", "numpy", "numba", "llvmlite", "scipy", "gguf", "llama-cpp-python")


def describe() -> Machine:
    cpu, flags = _cpu()
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cpu=cpu,
        cpu_flags=flags,
        cores=os.cpu_count() or 1,
        memory_bytes=_memory(),
        libc=" ".join(platform.libc_ver()),
        python=platform.python_version(),
        packages={name: _version(name) for name in _PACKAGES},
    )


def _cpu() -> tuple[str, list[str]]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor(), []
    facts: dict[str, str] = {}
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags") or facts.get("Features") or ""
    return facts.get("model name", platform.machine()), sorted(flags.split())


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
