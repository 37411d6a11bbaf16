"""The meanings of samplers on other platforms: the same source and seed, and other bits or tokens.

Some of llama.cpp's results depend on the compiler, the standard library or the C library.
Primitives
compute them: `floats.multiply_add`, `floats.to_int32`, `sorting.std_sort`, `random.discrete` and
the like. A `Platform` selects each of them, `PLATFORMS` is the table, and no sampler knows of it.
`build_chain(spec, platform="linux-arm64-gcc")` builds a chain with the meanings of a platform;
inside `with on("wasm"):` the whole reference computes as there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, cast

from sampler_parity.reference.errors import ChainError

Contraction = Literal["none", "gcc", "clang"]
Conversion = Literal["lowest", "saturates"]
Library = Literal["libstdc++", "libc++", "libc++19", "msvc", "portable"]
CLibrary = Literal["glibc", "musl", "apple", "ucrt"]


@dataclass(frozen=True)
class Platform:
    """The parts of a platform that decide the bits, operation by operation.

    contraction: whether a * b + c is rounded once, and which product if there are two.
    conversion: the int(x) of an x that is NaN or too large: INT_MIN, or the nearest int and 0.
    sorting: whose std::sort and std::partial_sort order equal logits.
    random: whose std::discrete_distribution and uniform numbers draw; portable: those of a patched
    llama.cpp.
    libm: whose expf, logf, log2f and powf.
    unknown: parts of the row that the reference does not have, or may not, each with its text.
    perhaps: the sorting that it may have instead.
    """

    name: str
    words: str
    contraction: Contraction = "none"
    conversion: Conversion = "lowest"
    sorting: Library = "libstdc++"
    random: Library = "libstdc++"
    libm: CLibrary = "glibc"
    unknown: tuple[tuple[str, str], ...] = ()
    perhaps: Library | None = None


PARTS = ("contraction", "conversion", "sorting", "random", "libm")


class Observed:
    """A platform that notes which parts of its row are asked for: on one that has the same in these
    all comes out the same."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.asked: set[str] = set()

    def __getattr__(self, part: str) -> Any:
        self.asked.add(part)
        value = getattr(self._platform, part)
        setattr(self, part, value)  # it is not asked here again
        return value


DEFAULT = "linux-x64-gcc"

_APPLE = (
    ("libm", "the last bit of Apple's expf, logf, log2f, powf"),
    (
        "sorting",
        "whether it was compiled with libc++ 17 or later, as assumed, or with an older one, which "
        "leaves another order here",
    ),
)
_WINDOWS = (("libm", "the last bit of the Windows runtime's expf, logf, log2f, powf"),)

# name, then contraction, conversion, sorting, random, libm
_TABLE: tuple[tuple[str, Contraction, Conversion, Library, Library, CLibrary], ...] = (
    (DEFAULT,              "none",  "lowest",    "libstdc++", "libstdc++", "glibc"),
    ("linux-x64-v3-gcc",   "gcc",   "lowest",    "libstdc++", "libstdc++", "glibc"),
    ("linux-x64-musl",     "none",  "lowest",    "libstdc++", "libstdc++", "musl"),
    ("linux-x64-libc++14", "none",  "lowest",    "libc++",    "libc++",    "glibc"),
    ("linux-x64-libc++19", "none",  "lowest",    "libc++19",  "libc++",    "glibc"),
    ("linux-arm64-gcc",    "gcc",   "saturates", "libstdc++", "libstdc++", "glibc"),
    ("linux-arm64-clang",  "clang", "saturates", "libstdc++", "libstdc++", "glibc"),
    ("wasm",               "none",  "lowest",    "libc++",    "libc++",    "musl"),
    ("macos-arm64",        "clang", "saturates", "libc++19",  "libc++",    "apple"),
    ("macos-x64",          "none",  "lowest",    "libc++19",  "libc++",    "apple"),
    ("windows-x64",        "none",  "lowest",    "msvc",      "msvc",      "ucrt"),
    ("portable",           "none",  "saturates", "portable",  "portable",  "glibc"),
)  # fmt: skip
_WORDS = {
    DEFAULT: "Linux on x86-64: glibc, libstdc++",
    "linux-x64-v3-gcc": "Linux on x86-64, compiled by GCC for processors with FMA "
    "(-march=x86-64-v3 or native)",
    "linux-x64-musl": "Linux on x86-64: musl, libstdc++ (Alpine)",
    "linux-x64-libc++14": "Linux on x86-64: glibc, libc++ 14 to 16",
    "linux-x64-libc++19": "Linux on x86-64: glibc, libc++ 17 to 19",
    "linux-arm64-gcc": "Linux on arm64, compiled by GCC: glibc, libstdc++",
    "linux-arm64-clang": "Linux on arm64, compiled by clang: glibc, libstdc++ "
    "(@node-llama-cpp/linux-arm64)",
    "wasm": "WebAssembly: musl, libc++ 14 to 16 (Emscripten)",
    "macos-arm64": "macOS on arm64: clang, libc++ 17 to 19",
    "macos-x64": "macOS on x86-64: clang, libc++ 17 to 19",
    "windows-x64": "Windows on x86-64: Microsoft's standard library and runtime",
    "portable": "any, of a llama.cpp with harness/llama_cpp/platforms/portable.patch",
}
_UNKNOWN = {"macos-arm64": _APPLE, "macos-x64": _APPLE, "windows-x64": _WINDOWS}
_PERHAPS: dict[str, Library] = {"macos-arm64": "libc++", "macos-x64": "libc++"}


PLATFORMS = {
    row[0]: Platform(
        row[0],
        _WORDS[row[0]],
        *row[1:],
        unknown=_UNKNOWN.get(row[0], ()),
        perhaps=_PERHAPS.get(row[0]),
    )
    for row in _TABLE
}

_current: ContextVar[Platform] = ContextVar("platform", default=PLATFORMS[DEFAULT])

current = _current.get


def platform_of(name: str) -> Platform:
    """Return the platform of a name. Raises ChainError, with the names, for an unknown one."""
    if name not in PLATFORMS:
        short = name if len(name) <= 40 else f"{name[:40]}..."
        raise ChainError(f"unknown platform {short!r}; known: {', '.join(PLATFORMS)}")
    return PLATFORMS[name]


@contextmanager
def on(platform: str | Platform | Observed) -> Iterator[None]:
    """Compute as on this platform inside the block; nested, the innermost counts. Raises ChainError
    for an unknown name."""
    row = platform_of(platform) if isinstance(platform, str) else cast(Platform, platform)
    before = _current.set(row)
    try:
        yield
    finally:
        _current.reset(before)
