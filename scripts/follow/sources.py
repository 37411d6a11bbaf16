"""llama.cpp's sources as a package node-llama-cpp has them, and how two releases of them differ.

The package holds a bundle of git with one commit of llama.cpp. Nothing is compiled here:
prototypes, structures and functions are compared as text.
"""

import difflib
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import extract
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.llama_cpp.builds import npm_pack

HEADER = "include/llama.h"
CODE = ("src/llama-sampler.cpp", "src/llama-grammar.cpp")
_WHOLE = r"^(?:\w[^;{}=\n]*\([^;{}]*\{\n.*?^\}|struct \w+[^;{}()]*\{\n.*?^\};)"
_BUNDLE = re.compile(r"package/llama/gitRelease\.bundle")

# The structures that the harness sets or reads.
STRUCTURES = (
    "llama_model_params", "llama_context_params", "llama_sampler_chain_params", "llama_token_data",
    "llama_token_data_array", "llama_batch", "llama_logit_bias", "llama_perf_sampler_data",
    "llama_sampler_seq_config",
)  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument or a field: its type without const and struct, and its name."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}".strip()


@dataclass(frozen=True)
class Changed:
    """Text before and now; "" where there is none."""

    name: str
    before: str
    now: str


@dataclass(frozen=True)
class Sources:
    """What is read of a release. prototypes and structures: of llama.h, by name. functions: the
    text of each function and structure of the samplers and grammars, by name."""

    prototypes: Mapping[str, tuple[Argument, ...]] = field(default_factory=dict)
    structures: Mapping[str, tuple[Argument, ...]] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)


def fetched(version: str) -> Path:
    """Return the folder with the sources of node-llama-cpp@VERSION, fetched with npm once. Raises
    InputError."""
    folder = cache_folder() / "native" / f"node-llama-cpp-{version}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        work = Path(temporary)
        archive = npm_pack(f"node-llama-cpp@{version}", work)
        with tarfile.open(archive) as tar:
            extract(tar, work, [one for one in tar if _BUNDLE.fullmatch(one.name)])
        made = _unbundled(work, archive.name)
        made.rename(folder)
    return folder


def _unbundled(work: Path, name: str) -> Path:
    """Return a folder with the files of the bundle's commit. Raises InputError."""
    bundle, made = work / "package" / "llama" / "gitRelease.bundle", work / "sources"
    git = ["git", "-C", str(work / "git")]
    made.mkdir()
    try:
        subprocess.run(["git", "init", "-q", "--bare", str(work / "git")], check=True)
        subprocess.run([*git, "fetch", "-q", str(bundle), "HEAD"], check=True)
        for path in (HEADER, *CODE):
            show = [*git, "show", f"FETCH_HEAD:{path}"]
            text = subprocess.run(show, check=True, stdout=subprocess.PIPE).stdout
            (made / Path(path).name).write_bytes(text)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(name, f"its sources cannot be read: {error}") from None
    return made


def read(folder: Path) -> Sources:
    """Read the sources of a release."""
    header = (folder / "llama.h").read_text(encoding="utf-8")
    code = [(folder / Path(path).name).read_text(encoding="utf-8") for path in CODE]
    return Sources(prototypes(header), structures(header), functions("\n".join(code)))


def prototypes(header: str) -> dict[str, tuple[Argument, ...]]:
    """Return the arguments of each function of llama.h. Functions with a callback that is written
    out among their arguments are left out."""
    found = re.findall(r"LLAMA_API\s[^();]*?\b(\w+)\s*\(([^()]*)\)", _bare(header))
    return {name: _arguments(text, ",") for name, text in found}


def structures(header: str) -> dict[str, tuple[Argument, ...]]:
    """Return the fields of each structure of llama.h that has no structure in it."""
    bare = _bare(header)
    found = re.findall(r"struct\s+(llama_\w+)\s*\{([^{}]*)\}", bare)
    named_last = re.findall(r"struct(?:\s+\w+)?\s*\{([^{}]*)\}\s*(\w+)", bare)
    found += [(name, text) for text, name in named_last]
    return {name: _arguments(text, ";") for name, text in found}


def _bare(text: str) -> str:
    """Return C without comments and lines of the preprocessor."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


def _arguments(text: str, between: str) -> tuple[Argument, ...]:
    parts = (" ".join(part.split()) for part in text.split(between))
    return tuple(_argument(part) for part in parts if part not in ("", "void"))


def _argument(text: str) -> Argument:
    """Split `const struct llama_vocab * vocab` into `llama_vocab *` and `vocab`."""
    words = re.sub(r"\b(const|struct)\b", " ", text).replace("*", " * ").split()
    type_, name = words[:-1], words[-1]
    return Argument(" ".join(type_).replace("* *", "**"), name)


def functions(code: str) -> dict[str, str]:
    """Return the functions and structures of C++ that begin and end in the first column, without
    comments. Those of one name are joined."""
    found: dict[str, str] = {}
    for text in re.findall(_WHOLE, code, re.MULTILINE | re.DOTALL):
        name = re.match(r"struct (\w+)[^(]*\{", text) or re.search(r"([\w:~]+)\s*\(", text)
        if name:
            lines = (line.rstrip() for line in re.sub(r"//[^\n]*", "", text).splitlines())
            found[name[1]] = found.get(name[1], "") + "\n".join(line for line in lines if line)
    return found


def changed(
    before: Mapping[str, tuple[Argument, ...]],
    now: Mapping[str, tuple[Argument, ...]],
    names: Iterable[str],
) -> list[Changed]:
    """Return those of these names whose arguments differ."""
    sides = ((name, _shown(before.get(name)), _shown(now.get(name))) for name in names)
    return [Changed(name, old, new) for name, old, new in sides if old != new]


def changed_fields(before: Sources, now: Sources) -> list[Changed]:
    """Return the structures of STRUCTURES that differ: the fields that went and those that came, or
    all fields if only their order differs."""
    found = []
    for name in STRUCTURES:
        old, new = (side.structures.get(name, ()) for side in (before, now))
        went = [field for field in old if field not in new]
        came = [field for field in new if field not in old]
        if old != new:
            sides = (went, came) if went or came else (old, new)
            found.append(Changed(name, *("; ".join(map(str, side)) for side in sides)))
    return found


def _shown(arguments: tuple[Argument, ...] | None) -> str:
    return "" if arguments is None else f"({', '.join(map(str, arguments))})"


def changed_functions(before: Sources, now: Sources) -> dict[str, tuple[int, int]]:
    """Return how many lines went and came, by the name of each function that differs."""
    counts = {}
    for name in sorted({*before.functions, *now.functions}):
        old, new = (side.functions.get(name, "").splitlines() for side in (before, now))
        lines = [*difflib.ndiff(old, new)]
        if old != new:
            counts[name] = (sum(x[0] == "-" for x in lines), sum(x[0] == "+" for x in lines))
    return counts


def difference(before: Path, now: Path) -> str:
    """Return the whole difference of two folders of sources."""
    text: list[str] = []
    for file in ("llama.h", *(Path(path).name for path in CODE)):
        old, new = ((f / file).read_text(encoding="utf-8") for f in (before, now))
        names = f"{before.name}/{file}", f"{now.name}/{file}"
        text += difflib.unified_diff(old.splitlines(True), new.splitlines(True), *names)
    return "".join(text)
