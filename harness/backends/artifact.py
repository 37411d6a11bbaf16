"""The files that a backend is made of, taken at each start of its process.

They are the program, found on PATH and behind links, and the interpreter of a script. They are each
file that the command names, and what a script loads from next to it (`loaded_by`). They are the
packages of an engine's environment, and the libraries of a build. A process that starts with other
files than its run ends the run. Our own code has the digest of the machine's record.

A file is read again only if its stat has changed. The digests of folders and of large files are
kept in the user's cache folder, with inode, size, mtime and ctime of each file. Programs cannot set
the ctime of a file.

A script's files are found in its text; nothing is run. JavaScript and TypeScript: every quoted path
that begins with ./ or ../ and leads to a file, and the package.json next to the script. Python:
every module that an import names and that lies next to the script, on PYTHONPATH, or (of `-m`) in
the current folder; of a package all its files."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.bundle.info import FileInfo, described, first_change
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import ChangedFilesError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.cache_folder import cache_folder

_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".json", ".toml", ".cpp", ".h")
# They run a program that a later word names.
_RUNNERS = {"env", "nice", "nohup", "setsid", "stdbuf", "taskset", "timeout", "uv", "npx"}
_SHELLS = {"sh", "bash", "dash", "zsh"}
_PUT_BACK = "put it back and run with --resume, or run again to another -o"


@dataclass
class MadeOf:
    """Files that a backend is made of. folders: of packages, and of our own code. libraries: return
    those of its build. expected: the files that each start must find; None before the first."""

    name: str
    command: list[str]
    folders: list[Path] = field(default_factory=list)
    libraries: Callable[[], list[Path]] = list
    expected: list[FileInfo] | None = None

    def __call__(self) -> None:
        """Raise ChangedFilesError, with the file, if they are not those that are expected."""
        files = self.files()
        if self.expected is None:
            self.expected = files
        self._refuse(self.expected, files)

    def check_files(self) -> None:
        """Raise ChangedFilesError if a file has changed; folders are not searched."""
        files = [file for file in self.expected or [] if not file.files]
        self._refuse(files, [file_info(Path(file.path)) for file in files])

    def files(self) -> list[FileInfo]:
        """Return the files, in the order of their paths."""
        paths = {*_parts(self.command), *self.folders, *self.libraries()}
        return [info_of(path) for path in sorted(paths)]

    def _refuse(self, old: Sequence[FileInfo], new: Sequence[FileInfo]) -> None:
        change = first_change(old, new, self.command)
        if change is not None:
            where, digests = described(*change, changed_inside)
            problem = f"changed during the run of {self.name}: {digests}"
            raise ChangedFilesError(where, problem, _PUT_BACK)


def info_of(path: Path, fresh: bool = False) -> FileInfo:
    """Return what is bound of a file or folder; of our own engines the code alone. fresh: read all
    of it, whatever the cache has."""
    if not path.is_dir():
        return file_info(path, fresh)
    ours = path.is_relative_to(engines_folder().resolve())
    return folder_info(path, _is_code if ours else lambda name: True, fresh)


def _is_code(name: str) -> bool:
    return name.endswith(_CODE)


def _parts(command: Sequence[str]) -> Iterator[Path]:
    """Yield the program of a command, its interpreter, the files that it names and their own."""
    program = _found(command[0]) or Path(command[0]).absolute()  # if absent, the start fails
    yield program
    if [*command[: len(WORKER_COMMAND)]] == WORKER_COMMAND:
        return
    yield from _interpreter(program)
    words = [*command[1:]]
    runs = program.name in _RUNNERS | _SHELLS or Path(command[0]).name in _RUNNERS | _SHELLS
    if runs:
        words = [part for word in words for part in _split(word)]
        yield from filter(None, map(_found, words))
    scripts = [program, *_named(words)]
    if words and any((Path(words[0]) / name).is_file() for name in ("__main__.py", "package.json")):
        yield Path(words[0]).resolve()
    isolated = program.name.startswith("python") and words[:1] == ["-I"]
    python_path = "" if isolated else os.environ.get("PYTHONPATH", "")
    # Without the variable Python does not look in the current folder; an empty part of it is that.
    paths = [Path(p).absolute() for p in python_path.split(os.pathsep)] if python_path else []
    for script in scripts:
        yield from loaded_by(script, paths)
    yield from (*scripts, *_module(command[0], words, paths))


def _named(words: Sequence[str]) -> Iterator[Path]:
    """Yield the files that words name, alone or behind "="."""
    for word in words:
        option, _, value = word.rpartition("=")
        if os.path.isfile(name := value if option else word):
            yield Path(name).resolve()


def _module(program: str, words: list[str], paths: list[Path]) -> Iterator[Path]:
    """Yield the module of `-m`, and what it loads."""
    if "-m" not in words[:-1]:
        return
    current = [] if {"-P", "-I"} & {*words} else [Path.cwd()]
    prefix = Path(shutil.which(program) or program).absolute().parent.parent
    installed = [*prefix.glob("lib/python*/site-packages"), prefix / "Lib" / "site-packages"]
    module = module_in(words[words.index("-m") + 1], [*current, *paths, *installed])
    if module is None:
        return
    yield module
    if module.parent not in [path.resolve() for path in installed]:
        for script in sorted(module.rglob("*.py")) if module.is_dir() else [module]:
            yield from loaded_by(script, [module.parent, *paths])


def _interpreter(program: Path) -> Iterator[Path]:
    """Yield the programs that the first line of a script names."""
    try:
        with program.open("rb") as file:
            line = file.readline(512).decode(errors="replace")
    except OSError:
        return
    if line.startswith("#!"):
        yield from filter(None, map(_found, line[2:].split()))


def _found(word: str) -> Path | None:
    """Return the program of a word, behind links; None if there is none."""
    return Path(program).resolve() if (program := shutil.which(word)) else None


def _split(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return [word]


_LARGEST = 8 << 20  # bytes of a script that is searched
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_QUOTED = re.compile(r"""["'`](\.{1,2}/[^"'`\n]{1,400})["'`]""")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w., \t]*)", re.MULTILINE)
_ENDS = ("", *_JAVASCRIPT, ".json", ".node", *(f"/index{end}" for end in _JAVASCRIPT))


def loaded_by(script: Path, paths: list[Path]) -> Iterator[Path]:
    """Yield the files and the packages, which are folders, that a script loads, over others as
    well; not the script. paths: where Python looks behind the script's folder."""
    yielded = {script}
    pending = [script]
    while pending:
        for path in _named_in(pending.pop(), [script.parent, *paths]):
            if path not in yielded:
                yielded.add(path)
                yield path
                pending += path.rglob("*.py") if path.is_dir() else [path]


def module_in(name: str, paths: list[Path]) -> Path | None:
    """Return the file or the folder of a module's first part, in the first folder that has it."""
    first = name.partition(".")[0]
    for folder in paths:
        package = folder / first
        loaded = (package / "__init__.py").is_file() or first not in sys.stdlib_module_names
        if first and package.is_dir() and loaded:
            return package.resolve()
        files = [folder / f"{first}.py", *sorted(folder.glob(f"{first}.*.so"))]
        for file in files:
            if first and file.is_file():
                return file.resolve()
    return None


def _named_in(script: Path, paths: list[Path]) -> Iterator[Path]:
    try:
        if script.suffix not in (".py", *_JAVASCRIPT) or script.stat().st_size > _LARGEST:
            return
        text = script.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if script.suffix == ".py":
        for line in _IMPORT.findall(text):
            for name in line.partition(" import ")[0].split(","):
                if name.split() and (module := module_in(name.split()[0], paths)):
                    yield module
        return
    for name in ["./package.json", *_QUOTED.findall(text)]:
        for end in _ENDS:
            path = Path(os.path.normpath(script.parent / f"{name}{end}"))
            if path.is_file():
                yield path.resolve()
                break


_SETTLED_NS = 2_000_000_000  # a file that changed later may change again without a new ctime
_LARGE = 1 << 16
_LEFT_OUT = ("__pycache__", "RECORD")  # written by Python, and by pip with paths of the machine
Stat = list[int]
Digests = dict[str, tuple[Stat, str]]  # by path: its stat and digest

_CACHE: Digests = {}


def file_info(path: Path, fresh: bool = False) -> FileInfo:
    """Return a file's size and digest. fresh: read it, whatever the cache has."""
    cache = {} if fresh else _CACHE
    name, size = str(path), _size(path)
    if size >= _LARGE and not fresh and name not in cache:
        cache.update(_load(_cache_file(path)))
    before = cache.get(name)
    sha256 = _digest(path, cache)
    if size >= _LARGE and not fresh and cache.get(name) != before:
        _save(_cache_file(path), {name: cache[name]})
    return FileInfo(path=name, size=size, sha256=sha256)


def folder_info(
    folder: Path, keep: Callable[[str], bool] = lambda name: True, fresh: bool = False
) -> FileInfo:
    """Return the digest of the list of a folder's files. keep: whether a file name counts."""
    cached = _cache_file(folder)
    before = {} if fresh else _load(cached)
    cache = dict(before)
    digests: dict[str, str] = {}
    size = 0
    for path in _files(folder):
        if keep(path.name):
            name = path.relative_to(folder).as_posix()
            length = _size(path)
            digests[name] = f"{length} {_digest(path, cache, name)}"
            size += length
    cache = {name: cache[name] for name in digests if name in cache}
    if cache != before and not fresh:
        with contextlib.suppress(OSError):
            if {n: sha for n, (_, sha) in before.items()} != {n: s for n, (_, s) in cache.items()}:
                os.replace(cached, _before(cached))
        _save(cached, cache)
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    sha256 = hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()
    return FileInfo(path=str(folder), size=size, sha256=sha256, files=len(digests))


def changed_inside(folder: Path) -> str:
    """Return the first file of a folder that is not as it was before the folder changed last; "" if
    that is not known."""
    cached = _cache_file(folder)
    then, now = _load(_before(cached)), _load(cached)
    names = sorted(then.keys() | now.keys()) if then else []
    return next((n for n in names if then.get(n, ([], ""))[1] != now.get(n, ([], ""))[1]), "")


def _digest(path: Path, cache: Digests, name: str = "") -> str:
    """Return a file's digest, and put it into `cache`. With the stat of no file, if it changed a
    moment ago."""
    name = name or str(path)
    try:
        now = _stat(path)
        if name in cache and cache[name][0] == now:
            return cache[name][1]
        sha256 = sha256_of(path)
        settled = _stat(path) == now and time.time_ns() - max(now[2:]) > _SETTLED_NS
        cache[name] = (now if settled else [], sha256)
    except OSError:
        return ""
    return sha256


def _stat(path: Path) -> Stat:
    info = os.stat(path)
    return [info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns]


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0


def _files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, of links those that lead to a file."""
    for parent, below, names in os.walk(folder):
        below[:] = [name for name in below if name not in _LEFT_OUT]
        for name in names:
            path = Path(parent, name)
            if name not in _LEFT_OUT:
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(os.stat(path).st_mode):
                        yield path


def _cache_file(path: Path) -> Path:
    name = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "files" / f"{name}.json"


def _before(cached: Path) -> Path:
    return cached.with_suffix(".before")


def _load(path: Path) -> Digests:
    try:
        content = json.loads(path.read_bytes())
        return {
            str(name): ([*map(int, numbers)], str(sha)) for name, (numbers, sha) in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _save(path: Path, digests: Digests) -> None:
    """Save digests for the next process; without a cache folder they are computed again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, delete=False, encoding="utf-8"
        ) as part:
            json.dump(digests, part, separators=(",", ":"))
        os.replace(part.name, path)
