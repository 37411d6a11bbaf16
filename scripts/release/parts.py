"""Third-party text in the archives, unchanged or ported, and the check that all of it is named."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Third-party text in the archives, unchanged or ported to Python. files: of the wheel."""

    name: str
    version: str
    licence: str  # an SPDX identifier
    what: str
    files: tuple[str, ...]


PARTS = (
    Part("llama.cpp", "v0.5.0", "MIT", "grammars and cases of its tests, as they are; samplers, "
         "carried over into Python", ("suites/grammar/LICENSE", "suites/grammar/gbnf.toml",
         "suites/grammar/integration.toml", "reference/samplers/*.py", "reference/grammar/*.py")),
    Part("libstdc++", "12", "GPL-3.0-or-later WITH GCC-exception-3.1",
         "what its sorts and random numbers do, step by step", ("reference/platforms/libstdcxx.py",
         "reference/random.py")),
    Part("libc++", "14 to 19", "Apache-2.0 WITH LLVM-exception", "what its sorts do, step by step",
         ("reference/platforms/libcxx.py", "reference/platforms/libcxx_19.py")),
    Part("Microsoft STL", "", "Apache-2.0 WITH LLVM-exception", "what its sorts do, step by step",
         ("reference/platforms/msvc.py",)),
    Part("fdlibm", "5.3", "SunPro", "constants and steps of exp and log",
         ("engines/shared/v8_math.py",)),
    Part("Python documentation", "3.11", "PSF-2.0", "a part of what the model was trained on",
         ("golden/model/small.gguf",)),
)  # fmt: skip
# A file with third-party text has one of these; PARTS must name it.
THIRD_PARTY = re.compile(
    rb"[Cc]opyright \(c\)|MIT License|Sun Microsystems|github\.com/microsoft/STL"
)


def unnamed(members: dict[str, bytes]) -> list[str]:
    """Return a line for each file with third-party text that no part names, and each empty part.

    members: the files of the wheel by their path in sampler_parity.
    """
    lines = [
        f"{name}: has text of others that no part of scripts/release/parts.py names"
        for name, content in sorted(members.items())
        if not any(has(part, name) for part in PARTS) and THIRD_PARTY.search(content)
    ]
    return lines + [
        f"{part.name}: {pattern} of scripts/release/parts.py is no file of the wheel"
        for part in PARTS
        for pattern in part.files
        if not any(Path(name).match(pattern) for name in members)
    ]


def has(part: Part, name: str) -> bool:
    return any(Path(name).match(pattern) for pattern in part.files)
