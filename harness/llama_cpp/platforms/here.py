"""Find the row of reference/platforms that a libllama loaded here belongs to."""

import platform

from sampler_parity.reference.platforms import DEFAULT

_BY_SYSTEM = {
    ("Darwin", "arm64"): "macos-arm64",
    ("Darwin", "x86_64"): "macos-x64",
    ("Windows", "AMD64"): "windows-x64",
}


def platform_here(compiler: str) -> str:
    """Return the platform; the default if no row fits. compiler: the one that the library names."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) == ("Linux", "aarch64"):
        return "linux-arm64-clang" if "clang" in compiler else "linux-arm64-gcc"
    if (system, machine) == ("Linux", "x86_64") and platform.libc_ver()[0] != "glibc":
        return "linux-x64-musl"
    return _BY_SYSTEM.get((system, machine), DEFAULT)
