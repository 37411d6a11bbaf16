"""Builds of libllama: fetched with npm or pip, and registered by name in the user's cache folder.

A registered build is a folder `builds/NAME` with `build.json`; the libraries lie in it, or in the
folder that it names.
"""

import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import extract, sha256_of
from sampler_parity.harness.llama_cpp import build_files, recorded, wheels
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.platforms import make
from sampler_parity.harness.llama_cpp.platforms.runners import RUNNERS, missing
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.harness.llama_cpp.wheels import EXTENSIONS
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.messages import Device
from sampler_parity.harness.protocol.process import BackendProcess

_PLATFORMS = {
    ("Linux", 62): "linux-x64",
    ("Linux", 183): "linux-arm64",
    ("Darwin", 62): "mac-x64",
    ("Darwin", 183): "mac-arm64-metal",
    ("Windows", 62): "win-x64",
    ("Windows", 183): "win-arm64",
}
_PROBE_TIMEOUT_S = 60.0


def elsewhere(name: str) -> recorded.Build | None:
    """Return the build of this name if it is for another platform: a program of its own runs it."""
    build = recorded.find(name)
    return build if build and build.program else None


def worker_arguments(name: str) -> list[str]:
    """Return folder, release or "", device or "", and the name if registered, of BUILD or
    BUILD:DEVICE. Raises InputError.

    Without a release the loaded library reports it. Loading also shows whether the device runs
    here.
    """
    build, device = (name, "") if os.path.isdir(name) else split_device(name)
    folder, release = recorded.resolve(build)
    if release is None and not build_files.reports_release(build_files.library_file(folder)):
        raise InputError(
            build_files.library_file(folder),
            "does not report its release of llama.cpp",
            build_files.NAME_IT,
        )
    devices = build_files.device_files(folder)
    if device and device not in devices and (devices or device not in build_files.GPUS):
        fix = ", ".join(devices) or "its devices are linked: leave the name out"
        raise InputError(f"llama.cpp@{name}", f"the build has no device {device!r}", fix)
    registered = [build] if recorded.find(build) else []
    return [folder.as_posix(), release or "", device, *registered]


def libraries(name: str) -> dict[str, str]:
    """Return the SHA-256 of each library of BUILD or BUILD:DEVICE, or of the installed llama.cpp.
    Raises InputError if a registered build has changed since it was recorded."""
    if not name:
        return build_files.digests(default_folder())
    if elsewhere(name):
        return recorded.unchanged(name)
    folder, _, _, *registered = worker_arguments(name)
    return recorded.unchanged(registered[0]) if registered else build_files.digests(Path(folder))


def describe() -> list[str]:
    """Format each registered build: name, release, which devices run here, and why others do
    not."""
    lines = []
    for path in sorted(recorded.builds_folder().glob("*/build.json")):
        name = path.parent.name
        try:
            build = recorded.find(name)
            if build is None:
                raise InputError(path, "is not a valid name of a build")
            if not build.program:
                build_files.check(Path(build.folder))
            recorded.unchanged(name)
        except InputError as error:
            lines.append(f"{name:<14} unusable: {error}")
            continue
        if build.program:
            lines.append(f"{name:<14} {build.release or '':<16} {_elsewhere(build)}")
            continue
        usable, unusable = _devices(Path(build.folder))
        lines.append(f"{name:<14} {build.release or 'release unknown':<16} {usable}")
        lines += [f"{'':<31} not here: {unusable}"] if unusable else []
    return lines


def _devices(folder: Path) -> tuple[str, str]:
    """Return the devices that run here, and those that do not, with the reason."""
    if not build_files.device_files(folder):
        return "cpu (built in)", ""
    try:
        devices = probe(folder)
    except BackendFailure as failure:
        return "unknown", f"{', '.join(build_files.device_files(folder))} ({failure})"
    usable = [
        f"{device.name} ({device.about})" if device.about else device.name
        for device in devices
        if device.runs
    ]
    reasons: dict[str, list[str]] = {}
    for device in devices:
        if not device.runs:
            reasons.setdefault(device.about, []).append(device.name)
    lines = [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]
    return ", ".join(usable) or "none", "; ".join(lines)


def probe(folder: Path) -> list[Device]:
    """Return the devices of a folder, each with whether it runs here. Raises BackendFailure."""
    command = [*WORKER_COMMAND, "llama.cpp/devices", str(folder)]
    backend = BackendProcess("llama.cpp/devices", command, _PROBE_TIMEOUT_S)
    try:
        return client.devices(backend)
    finally:
        backend.close()


def _elsewhere(build: recorded.Build) -> str:
    """Describe how a build for another platform runs here, or why it does not."""
    how = f"runs by {RUNNERS[build.runner].program}" if build.runner else "cpu"
    return f"{build.platform}: {missing(build) or how}"


def add(what: str, release: str | None = None) -> recorded.Build:
    """Add NAME=FOLDER, or PACKAGE@VERSION of npm or PyPI. Raises InputError."""
    name, is_folder, folder = what.partition("=")
    if is_folder:
        return add_folder(name, Path(folder), release)
    if release is not None:
        raise InputError(
            "--release", "a package reports its own release", "use it with NAME=FOLDER only"
        )
    package, at, version = what.rpartition("@")
    if not at or not package:
        raise InputError(what, "is not a build", "write node-llama-cpp@VERSION or NAME=FOLDER")
    return add_package(package, version)


def add_folder(name: str, folder: Path, release: str | None = None) -> recorded.Build:
    """Register a folder where it is. release: for a build that does not report its own."""
    if not recorded.NAME.fullmatch(name):
        raise InputError(
            f"build {name!r}", "invalid name", "use letters, digits, '.', '_', '+' and '-'"
        )
    library = build_files.check(folder)
    if recorded.builds_folder().resolve() in folder.resolve().parents:
        raise InputError(folder, "is registered already", "see `sampler-parity builds list`")
    if release is not None:
        order(release)
    build = recorded.Build(
        name=name,
        folder=str(folder.resolve()),
        release=release or recorded.release_of(folder),
        sha256=sha256_of(library),
        added=recorded.today(),
        libraries=build_files.digests(folder),
    )
    with tempfile.TemporaryDirectory() as empty:
        recorded.register(build, Path(empty))
    return build


def add_package(package: str, version: str) -> recorded.Build:
    """Fetch a prebuilt package and register it under `name_for` its release."""
    if package == "node-llama-cpp":
        package = f"@node-llama-cpp/{_platform()}"
    if not re.fullmatch(r"@node-llama-cpp/[a-z0-9-]+", package) and package not in EXTENSIONS:
        raise InputError(
            package, "is not a supported package of builds", "use node-llama-cpp@VERSION"
        )
    if not re.fullmatch(r"[0-9A-Za-z.+-]+", version):
        raise InputError(f"{package}@{version}", "invalid version", "write one as 3.14.0")
    with tempfile.TemporaryDirectory() as temporary:
        if package in EXTENSIONS:
            release: str | None = wheels.release_of(package, version)
            archive, folder = wheels.fetch(package, version, Path(temporary))
        else:
            archive = npm_pack(f"{package}@{version}", Path(temporary))
            folder = _unpack(archive, Path(temporary) / "unpacked")
            release = recorded.release_of(folder)
            if package in make.packages() and package != f"@node-llama-cpp/{_platform()}":
                return make.add_package(package, version, release or "", archive, folder)
        build_files.check(folder)
        if release is None:
            raise InputError(f"{package}@{version}", "does not report its release of llama.cpp")
        order(release)
        name = name_for(release, package, version)
        build = recorded.Build(
            name=name,
            folder=str(recorded.builds_folder().resolve() / name),
            release=release,
            package=f"{package}@{version}",
            sha256=sha256_of(archive),
            added=recorded.today(),
            libraries=build_files.digests(folder),
        )
        recorded.register(build, folder)
    return build


def name_for(release: str, package: str, version: str) -> str:
    """Return the name of a package: release and device, and its version if another build already
    has that name. So two packages of one release can both be registered."""
    name = release + re.sub(r"xllamacpp|.*/[a-z]+-(x64|arm64)(-metal)?", "", package)
    registered = recorded.find(name)
    return (
        name
        if registered is None or registered.package == f"{package}@{version}"
        else f"{name}-{version}"
    )


def _platform() -> str:
    key = (platform.system(), build_files.MACHINES.get(platform.machine(), 0))
    if key not in _PLATFORMS:
        raise InputError("node-llama-cpp", f"no package for {platform.system()} on this processor")
    return _PLATFORMS[key]


def npm_pack(package: str, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise InputError("npm", "is not installed", "install Node.js, or add NAME=FOLDER")
    command = [npm, "pack", package, "--pack-destination", str(folder)]
    try:
        result = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", timeout=600
        )
    except subprocess.TimeoutExpired:
        raise InputError(package, "npm took more than ten minutes") from None
    archives = list(folder.glob("*.tgz"))
    if result.returncode == 0 and len(archives) == 1:
        return archives[0]
    code = re.search(r"\bcode (E[A-Z0-9_]+)", result.stderr)
    if code and code[1] in ("E404", "ETARGET"):
        raise InputError(package, f"npm knows no such package or version ({code[1]})")
    reason = code[1] if code else f"exit status {result.returncode}"
    raise InputError(package, f"npm cannot fetch it: {reason}", f"try `npm pack {package}`")


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive; return the folder with the libraries."""
    try:
        with tarfile.open(archive) as tar:
            extract(tar, folder, list(tar))
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(archive.name, f"cannot be unpacked: {error}", "fetch it again") from None
    folders = [path.parent for path in sorted(folder.glob("**/_nlcBuildMetadata.json"))]
    if len(folders) != 1:
        raise InputError(archive.name, "holds no build of llama.cpp", "use another package")
    return folders[0]


def split_device(build: str) -> tuple[str, str]:
    """Split BUILD:DEVICE; the device may be "". Only a word is a device: C:\\builds has none."""
    name, colon, device = build.rpartition(":")
    return (name, device) if colon and re.fullmatch(r"[a-z0-9._-]+", device) else (build, "")
