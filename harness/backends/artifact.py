"""The files that a backend is made of, taken at each start of its process.

They are the program, found on PATH and behind links, and the interpreter of a script. They are each
file that the command names, and what a script loads from next to it (imports.py). They are the
packages of an engine's environment, and the libraries of a build. A process that starts with other
files than its run ends the run. Our own code has the digest of the machine's record.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.backends.hashed import changed_inside, file_info, folder_info
from sampler_parity.harness.backends.imports import loaded_by, module_in
from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.bundle.made_of import described, first_change
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import ChangedFilesError

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
