"""The libraries of a libllama build: which files of a folder they are, checked before they are
loaded."""

import hashlib
import platform
import re
import struct
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of

_LIBRARIES = {"Darwin": ("libllama", "dylib"), "Windows": ("llama", "dll")}
_MACHINES = {3: "x86", 40: "arm", 62: "x86-64", 183: "arm64", 243: "risc-v"}
MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}

_LIBRARY = re.compile(r"\.(so(\.[0-9]+)*|dylib|dll)$")

NAME_IT = "name it: `sampler-parity builds add NAME=FOLDER --release b4753`"

# Devices that are no CPU variant -> their names in ggml's registry.
GPUS = {"cuda": "CUDA", "metal": "MTL", "vulkan": "Vulkan"}


def library_file(folder: Path) -> Path:
    """Return the libllama in a folder: libllama.so, libllama.RELEASE.so or
    libllama.vulkan.RELEASE.so. Raises InputError."""
    stem, suffix = _LIBRARIES.get(platform.system(), ("libllama", "so"))
    plain = folder / f"{stem}.{suffix}"
    libraries = [plain] if plain.is_file() else _with_release(folder, stem, suffix)
    if not libraries:
        raise InputError(folder, f"no {plain.name} here", "name a folder with a libllama build")
    return libraries[0]


def needed_libraries(folder: Path) -> list[Path]:
    """Return the ggml libraries that libllama links to, in the order in which they can be loaded.
    Not the devices' libraries (libggml-cpu-haswell, libggml-vulkan): ggml chooses among those."""
    libraries: list[Path] = []
    for stem in ("libggml-base", "libggml"):
        libraries += [*folder.glob(f"{stem}.so"), *_with_release(folder, stem, "so")]
    return libraries


def _with_release(folder: Path, stem: str, suffix: str) -> list[Path]:
    """Return STEM.RELEASE.SUFFIX, and STEM.DEVICE.RELEASE.SUFFIX of a build for a GPU."""
    pattern = re.compile(rf"{stem}(\.[a-z]+)?\.[bv]\d[\d.]*\.{suffix}")
    return sorted(path for path in folder.glob(f"{stem}.*") if pattern.fullmatch(path.name))


def device_files(folder: Path) -> dict[str, Path]:
    """Return the devices that a build holds as separate libraries: "haswell", "vulkan" -> the file.
    Empty if the build links its devices."""
    by_device = {
        path.name.split(".")[0].removeprefix("libggml-").removeprefix("cpu-"): path
        for path in sorted(folder.glob("libggml-*.so"))
    }
    return {name: path for name, path in by_device.items() if name not in ("base", "cpu")}


def check(folder: Path) -> Path:
    """Return the libllama of a folder. Raises InputError if this machine cannot load it."""
    if not folder.is_dir():
        raise InputError(folder, "is not a folder", "name one that holds a libllama")
    library = library_file(folder)
    if platform.system() == "Linux":
        for path in (library, *needed_libraries(folder)):
            _check_elf(path)
    return library


def _check_elf(path: Path) -> None:
    """Check that a file is complete and built for this processor: dlopen crashes on some truncated
    files."""
    with path.open("rb") as file:
        data = file.read(64)
    if len(data) < 64 or data[:4] != b"\x7fELF":
        raise InputError(path, "is truncated, or not a shared library", "fetch the build again")
    machine = struct.unpack_from("<H", data, 18)[0]
    ours = MACHINES.get(platform.machine(), machine)
    if machine != ours:
        built, expected = (_MACHINES.get(m, f"machine {m}") for m in (machine, ours))
        raise InputError(
            path, f"built for {built}, this processor is {expected}", "use its package"
        )
    if data[4] == 2:  # 64 bits: the table of sections is the last thing in the file
        start = struct.unpack_from("<Q", data, 40)[0]
        entry, count = struct.unpack_from("<HH", data, 58)
        if path.stat().st_size < start + entry * count:
            raise InputError(path, "is truncated", "fetch the build again")


# One search for each takes 4 ms, as each begins with fixed text; one search for a|b|c takes 300.
_COMPILERS = [rb"GCC: \([^)\0]*\) [\d.]+", rb"Apple clang version [\d.]+", rb"clang version [\d.]+"]


def compiler_of(path: Path) -> str:
    """Return the compiler that a library names first, or ""."""
    content = path.read_bytes()
    matches = [match for pattern in _COMPILERS if (match := re.search(pattern, content))]
    first = min(matches, key=lambda match: match.start(), default=None)
    return first[0].decode(errors="replace") if first else ""


def digest_of(libraries: dict[str, str]) -> str:
    """Return one short digest of a whole build: the start of a hash of its libraries' digests."""
    lines = (f"{name} {digest}\n" for name, digest in sorted(libraries.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each library of a build by its file name, versioned names included:
    libllama looks up ggml by such a name. Raises InputError."""
    return _digests(folder, libraries_of(folder))


def libraries_of(folder: Path) -> list[Path]:
    """Return the libraries of a build. Raises InputError."""
    files = {library_file(folder), *folder.glob("libggml*"), *folder.glob("ggml*.dll")}
    return sorted(path for path in files if _LIBRARY.search(path.name))


def digests_of_all(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file, except the record, of a build for another platform. Raises
    InputError."""
    return _digests(folder, files_of(folder))


def files_of(folder: Path) -> list[Path]:
    """Return every file of a build for another platform, except the record."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [path for path in files if path.name != "build.json"]


def _digests(folder: Path, files: list[Path]) -> dict[str, str]:
    try:
        return {path.name: sha256_of(path) for path in files}
    except OSError as error:
        raise InputError(folder, f"a library cannot be read: {error}") from None


def reports_release(library: Path) -> bool:
    """Return whether a libllama has llama_version(); no release of the b series has it."""
    return b"llama_version\0" in library.read_bytes()
