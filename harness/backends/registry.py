"""Backends by their names: the command that starts one, and its description of itself."""

import os
import re
import sysconfig
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from sampler_parity.harness.backends import engines, environments, worker
from sampler_parity.harness.backends.artifact import MadeOf
from sampler_parity.harness.backends.engines import ENGINES, OWN, BackendName
from sampler_parity.harness.bundle.artifacts import stage_file
from sampler_parity.harness.bundle.info import BackendInfo, FileInfo, digest_of
from sampler_parity.harness.engines.engine_file import Engine, engines_folder
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.build_files import (
    compiler_of,
    files_of,
    libraries_of,
    library_file,
)
from sampler_parity.harness.llama_cpp.build_files import digest_of as digest_of_libraries
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.platforms.runners import missing, platform_here
from sampler_parity.harness.llama_cpp.signatures import known_meaning, order
from sampler_parity.harness.processes import shell
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import START_TIMEOUT_S, BackendProcess
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.reference.chronology import NEWEST, joined

_EXEC = ["sampler-parity", "engines", "exec"]
_ADDRESS = re.compile(r"(sandbox:)?((?P<short>[^=]*)=)?\s*https?://", re.IGNORECASE)
# SGLang and torch load in 9 s; next to eleven other processes on two cores it took over 60 s.
OF_AN_ENVIRONMENT_S = 300.0


def parse(name: str) -> BackendName:
    """Parse a name. Raises InputError for an unknown name, and for the address of a server."""
    if match := _ADDRESS.match(name):
        fix = "check a server with `sampler-parity server check URL --dialect ...`"
        short = match["short"] or "an address"
        raise InputError(
            f"backend {short!r}", "a server takes texts, but a suite needs logits", fix
        )
    backend = engines.parse(name)
    if backend is None:
        fix = f"use {', '.join(ENGINES)}, llama.cpp@BUILD, llama.cpp@BUILD:DEVICE or NAME=COMMAND"
        if suggestion := did_you_mean(name, ENGINES):
            fix = f"{suggestion} Or NAME=COMMAND; `sampler-parity list backends` has all"
        raise InputError(f"backend {name!r}", "unknown", fix)
    return backend


def command_of(name: str) -> tuple[str, list[str]]:
    """Return the short name and the command of a backend. Raises InputError for an unknown one."""
    backend = parse(name)
    if not backend.engine:
        return backend.short, _words(name, backend.command)
    row = ENGINES.get(backend.engine)
    if row is None:
        return backend.short, [*WORKER_COMMAND, backend.engine, backend.of]
    if row.command:
        program = _program(row, backend.fault)
        if row.environment:
            return backend.short, environments.command(row.environment, backend.of, program)
        return backend.short, list(program)
    if backend.engine == "llama.cpp" and backend.of and builds.elsewhere(backend.of):
        return backend.short, [*WORKER_COMMAND, "llama.cpp/elsewhere", backend.of]
    words = ["mutant/engine", row.name, backend.fault] if backend.fault else [row.name]
    if row.environment:
        return backend.short, environments.worker_command(row.environment, backend.of, words)
    return backend.short, [*WORKER_COMMAND, *words, *_worker_arguments(backend)]


def _program(row: Engine, fault: str) -> tuple[str, ...]:
    """Return the command of an engine, or of the program that is this engine with a fault."""
    program, file, *arguments = row.command
    folder = engines_folder() / row.folder
    if fault:
        return program, str(folder / "worker_faults.mjs"), *arguments, fault
    return program, str(folder / file), *arguments


def _words(name: str, command: str) -> list[str]:
    try:
        parts = shell.split(command)
    except ValueError as error:
        raise InputError(
            f"backend {name!r}", f"the command cannot be parsed: {error}", "close its quotes"
        ) from None
    if not parts or "\0" in command:
        raise InputError(f"backend {name!r}", "the command is empty", "name a program")
    return parts


def _worker_arguments(backend: BackendName) -> list[str]:
    if not backend.of:
        return []
    if backend.engine == "reference":
        return [known_meaning(backend.of)]
    return builds.worker_arguments(backend.of)


def references(backends: list[str], reference: str | None) -> dict[str, str | None]:
    """Return for each backend the release and platform that it is judged by: the given one, or with
    `own` that of its build. None: as the cases require, by v0.5.0. Raises InputError."""
    if reference not in (None, "own"):
        reference = known_meaning(reference)
    releases: dict[str, str | None] = {}
    _refuse_equal([command_of(name)[0] for name in backends])
    for name in backends:
        releases[name] = _release_of(name) if reference == "own" else reference
    return releases


def references_as_reported(
    meanings: dict[str, str | None], infos: Mapping[str, BackendInfo]
) -> dict[str, str | None]:
    """Return the same, but judge an adapter that names a platform by that platform. Raises
    InputError for an unknown one."""
    platforms = {name: infos[command_of(name)[0]].platform for name in meanings}
    return {
        name: known_meaning(platforms[name], f"backend {name}")
        if target is None and platforms[name]
        else target
        for name, target in meanings.items()
    }


def shown(command: list[str]) -> list[str]:
    """Return a command in the form of a bundle: it runs from any folder."""
    program, *arguments = command
    if str(environments.START) in command:
        name = next(word for word in reversed(command) if word in ENGINES)
        return [*_EXEC, ENGINES[name].environment, "--", "python", *arguments]
    if command[: len(WORKER_COMMAND)] == WORKER_COMMAND:  # its place is not needed in a bundle
        program, arguments = Path(program).name, arguments[1:]
    elif os.sep in program:
        program = _from_anywhere(program)
    return [program, *map(_from_anywhere, arguments)]


def _from_anywhere(word: str) -> str:
    """Make the path in a word absolute, alone or behind "=". A folder needs a separator in its
    name, or it could be a word of the command."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    path = Path(value)
    is_path = path.is_file() or (("/" in value or os.sep in value) and path.is_dir())
    return f"{option}{equals}{path.absolute()}" if is_path and not path.is_absolute() else word


def _refuse_equal(shorts: list[str]) -> None:
    """Raise InputError if two backends have the same short name, which results use, or the same
    file name in a bundle."""
    names: dict[str, str] = {}
    for short in shorts:
        file = stage_file("", short)
        if file in names:
            clash = f"has the same file names in a bundle as {names[file]}"
            problem = "named twice" if names[file] == short else clash
            fix = "give each a name of its own: -b NAME=BACKEND"
            raise InputError(f"backend {short}", problem, fix)
        names[file] = short


def _release_of(name: str) -> str | None:
    """Return the release; None if it is no build of llama.cpp. An unknown sampler of a release is
    reported by its cases."""
    backend = parse(name)
    if backend.engine not in ("llama.cpp", "reference"):
        return None
    release = backend.of
    if backend.engine == "llama.cpp" and (build := builds.elsewhere(backend.of)):
        return known_meaning(f"{build.release or NEWEST}/{build.platform}")
    if backend.engine == "llama.cpp" and backend.of:
        _, release, *_ = builds.worker_arguments(backend.of)
    if backend.engine == "reference":
        return known_meaning(release or NEWEST)
    order(release or NEWEST)
    return joined(release or NEWEST, _platform_of(backend.of))


def _platform_of(build: str) -> str:
    """Return the platform of the installed llama.cpp, or of a build that is loaded here."""
    try:
        folder = Path(builds.worker_arguments(build)[0]) if build else default_folder()
        return platform_here(compiler_of(library_file(folder)))
    except InputError:  # not installed: the backend reports it
        return platform_here("")


def device_of(name: str) -> str:
    """Return the device that a backend is bound to: its engine's, or that of BUILD:DEVICE; else
    ""."""
    backend = parse(name)
    row = ENGINES.get(backend.engine)
    if row is None or row.device or not (row.builds and backend.of):
        return row.device if row else ""
    if builds.elsewhere(backend.of):
        return ""
    return builds.worker_arguments(backend.of)[2]


def start(name: str, timeout_s: float = 60.0, copied: bool = False) -> BackendProcess:
    """Start a backend. copied: a build of llama.cpp may be a copy of this process, which starts at
    once. Timings need a new interpreter. So does a backend in our own Python: a copy would share
    our faults."""
    short, command = command_of(name)
    backend = parse(name)
    row = ENGINES.get(backend.engine)
    main = worker.main if copied and row and row.builds and not backend.sandbox else None
    start_s = OF_AN_ENVIRONMENT_S if row and row.environment else START_TIMEOUT_S
    return BackendProcess(
        short,
        command,
        timeout_s,
        start_timeout_s=start_s,
        sandbox=backend.sandbox,
        main=main,
        check=_made_of(backend, command),
    )


def _made_of(backend: BackendName, command: list[str]) -> MadeOf:
    row = ENGINES.get(backend.engine)
    artifact = MadeOf(backend.short, command)
    if row is None:
        if command[1:3] == _EXEC[1:] and len(command) > 3:
            artifact.folders = environments.packages_of(*command[3].split("==")[:2])
        return artifact
    if row.builds:
        artifact.libraries = partial(_library_files, backend.of, command)
    elif row.name not in OWN:
        ours = engines_folder().resolve()
        artifact.folders = [ours / row.folder, ours / "shared"]
    if row.environment:
        artifact.folders += environments.packages_of(row.environment, backend.of)
    elif "the extra" in row.needs:
        artifact.folders.append(Path(sysconfig.get_path("purelib")))
    return artifact


def _library_files(build: str, command: list[str]) -> list[Path]:
    """Return the libraries of a build; none if llama-cpp-python is not installed."""
    if build and (registered := builds.elsewhere(build)):
        return files_of(Path(registered.folder))
    try:
        folder = Path(command[len(WORKER_COMMAND) + 1]) if build else default_folder()
        return libraries_of(folder)
    except InputError:
        return []


def expect(process: BackendProcess, files: Sequence[FileInfo]) -> None:
    """Let each start of a backend find the files of its run. None: of an older version's run."""
    artifact = _made_of_process(process)
    if artifact and files:
        artifact.expected = [*files]


def digest_of_files(process: BackendProcess) -> str:
    """Return the digest of the files that a backend was started with, or ""."""
    artifact = _made_of_process(process)
    return digest_of(artifact.expected or []) if artifact else ""


def check_files(process: BackendProcess) -> None:
    """Raise ChangedFilesError if a file, not in a folder, has changed since a backend started."""
    if artifact := _made_of_process(process):
        artifact.check_files()


def _made_of_process(process: BackendProcess) -> MadeOf | None:
    """Return what a backend is made of; None for one of a test in this process."""
    check = getattr(process, "check", None)
    return check if isinstance(check, MadeOf) else None


def refuse_changed(name: str, files: Sequence[FileInfo]) -> None:
    """Raise ChangedFilesError if a backend is no longer made of these files and folders. None: of a
    run that states none."""
    if not files:
        return
    _, command = command_of(name)
    artifact = _made_of(parse(name), command)
    artifact.expected = [*files]
    artifact()


def inspect(name: str) -> BackendInfo:
    """Return a backend's description of itself, or why it does not run here."""
    process = start(name)
    try:
        return about(name, process)
    finally:
        process.close()


def about(name: str, process: BackendProcess) -> BackendInfo:
    """Return the same, and leave the backend running. Raises InputError, before a start if
    possible, if the libraries of its build differ from the record."""
    command = shown(process.command)
    if why := _without_environment(parse(name)):
        return BackendInfo(command=command, unavailable=why, sandbox=process.sandbox)
    libraries = _libraries(parse(name))
    try:
        hello = process.hello()
    except BackendFailure as failure:
        return BackendInfo(command=command, unavailable=str(failure), sandbox=process.sandbox)
    artifact = _made_of_process(process)
    return BackendInfo(
        files=(artifact.expected or []) if artifact else [],
        digest=digest_of_files(process),
        command=command,
        name=hello.name,
        version=hello.version,
        build=_built(parse(name), hello.build, libraries),
        device=hello.device,
        platform=hello.platform,
        capabilities=list(hello.capabilities),
        random=hello.random,
        sandbox=process.sandbox,
        libraries=libraries,
    )


def _built(backend: BackendName, reported: str, libraries: dict[str, str]) -> str:
    """Return a backend's build as it reports it, with a digest of its libraries or packages."""
    if libraries:
        return f"{reported}, sha256 {digest_of_libraries(libraries)}"
    row = ENGINES.get(backend.engine)
    if row is None or not row.environment:
        return reported
    packages = f"packages sha256 {environments.digest(row.environment, backend.of)}"
    return f"{reported}, {packages}" if reported else packages


def _without_environment(backend: BackendName) -> str:
    """Return why it cannot run here: no environment of its engine, no emulator for its build."""
    row = ENGINES.get(backend.engine)
    if row and row.builds and (build := builds.elsewhere(backend.of)):
        return missing(build)
    return environments.missing(row.environment, backend.of) if row and row.environment else ""


def _libraries(backend: BackendName) -> dict[str, str]:
    row = ENGINES.get(backend.engine)
    if row is None or not row.builds:
        return {}
    try:
        return builds.libraries(backend.of)
    except InputError:
        if backend.of:
            raise
        return {}  # llama-cpp-python is not installed: the backend reports it
