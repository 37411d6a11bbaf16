"""The platform of this machine, and the program that runs a build for another one: an emulator, or
none."""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp.recorded import Build, find
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


@dataclass(frozen=True)
class Runner:
    """program: found in PATH or in `beside`; what it takes before the program that it runs.

    package: Debian's, which has it. processor: on such a machine it is not needed.
    """

    program: str
    arguments: tuple[str, ...] = ()
    package: str = ""
    beside: tuple[str, ...] = ()
    processor: str = ""


# an emulated system's own libraries, where Debian's cross compiler has them
_ARM64 = "/usr/aarch64-linux-gnu"

RUNNERS = {
    "qemu-aarch64": Runner(
        "qemu-aarch64-static", ("-L", _ARM64), "qemu-user-static", processor="aarch64"
    ),
    "node": Runner("node", package="nodejs"),
    "wine": Runner("wine64", package="wine64", beside=("/usr/lib/wine",)),
}


def command_of(name: str) -> tuple[Build, list[str], dict[str, str]]:
    """Return a registered build for another platform, its command, and the variables it needs.
    Raises InputError if it cannot run here."""
    build = find(name)
    if build is None or not build.program:
        raise InputError(
            f"llama.cpp@{name}",
            "is not a build for another platform",
            "make one with `builds make`",
        )
    folder = Path(build.folder)
    environment = {
        "LD_LIBRARY_PATH": str(folder),
        "GGML_NO_BACKTRACE": "1",  # it answers an abort by running gdb on itself
        "WINEDEBUG": "-all",
        "WINEPREFIX": str(cache_folder() / "wine"),
    }
    return build, [*_before(build), str(folder / build.program)], environment


def missing(build: Build) -> str:
    """Return why a build does not run here, in one line, or ""."""
    try:
        _before(build)
    except InputError as error:
        return str(error)
    return ""


def lacking(name: str) -> dict[str, str]:
    """Return the program of a runner if it is needed here and not installed, and its package."""
    if not name or RUNNERS[name].processor == platform.machine() or _found(RUNNERS[name]):
        return {}
    return {RUNNERS[name].program: RUNNERS[name].package}


def _found(runner: Runner) -> str | None:
    return shutil.which(runner.program) or next(
        (path for folder in runner.beside if (path := shutil.which(runner.program, path=folder))),
        None,
    )


def _before(build: Build) -> list[str]:
    if not build.runner or RUNNERS[build.runner].processor == platform.machine():
        return []
    runner = RUNNERS[build.runner]
    if (program := _found(runner)) is None:
        raise InputError(
            f"llama.cpp@{build.name}",
            f"built for {build.platform}, which {runner.program} runs here: not installed",
            f"apt-get install {runner.package}",
        )
    return [program, *runner.arguments]
