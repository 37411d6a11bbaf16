"""Run a program with the recorder in it. Its output and its exit status stay its own."""

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sampler_parity.harness.bundle.machine import describe
from sampler_parity.harness.engines.engine_file import engine_names, engines_folder
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.verdicts import Accept
from sampler_parity.programs.recording.detail import Detail
from sampler_parity.programs.recording.executable import why_not
from sampler_parity.programs.recording.info import RecordingInfo
from sampler_parity.programs.recording.library import recorder
from sampler_parity.programs.recording.segments import is_alive

_LAST_LINES = 2**18  # bytes; only destructors of the program are recorded after its end
_LONGEST_END_S = 120.0  # of what is left to judge, or to compress
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Options:
    """What to record. keep, limit: bytes, 0 for all; keep_ms: milliseconds, 0 for all. accept: what
    passes if it is judged at once; None: it is not. engine: of Python, instead of libllama."""

    engine: str = ""
    detail: Detail = "survivors"
    text: bool = True
    keep: int = 0
    keep_ms: int = 0
    limit: int = 0
    accept: Accept | None = None


def record(
    command: list[str], folder: Path, options: Options, begun: Callable[[], None] = lambda: None
) -> tuple[int, list[str]]:
    """Run a program until it ends. Returns its exit status, below 0 for a signal, and a line for
    each problem of the recording. begun: called when the folder is there.

    Raises InputError, before it starts the program, if it cannot be recorded.
    """
    check(command, options.engine)
    library = None if options.engine else recorder()
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise InputError(folder, "exists already", "choose another folder with -o") from None
    except OSError as error:
        raise cannot_write(folder, error) from None
    info = RecordingInfo(
        version=version("sampler-parity"),
        command=command if options.text else command[:1],
        detail=options.detail,
        text=options.text,
        started=_now(),
        machine=describe(),
    )
    try:
        info.write(folder)
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()  # else the next recording finds a folder, and no recording in it
        raise cannot_write(folder, error) from None
    begun()
    early: list[str] = []
    with _handlers_restored():
        with ExitStack() as stack:
            amounts = [options.keep, options.keep_ms, options.limit]
            stack.enter_context(_next_to("compactor", [folder, *amounts], early))
            if options.accept is not None:
                stack.enter_context(_next_to("live", [folder, options.accept], early))
            status = _run(command, os.environ | variables(folder, options, library))
        with suppress(OSError):
            ended = info.model_copy(update={"ended": _now(), "status": status})
            ended.sealed(folder).write(folder)
    return status, [*early, *problems(folder, options.engine)]


def check(command: list[str], engine: str = "") -> None:
    """Check that a program can be recorded. Raises InputError."""
    if engine:
        if engine not in (names := engines_with_recorder()):
            raise InputError(f"--engine {engine}", "has no recorder", f"use {', '.join(names)}")
        if shutil.which(command[0]) is None:
            raise InputError(command[0], "is not an executable program", "check its path")
        return
    if sys.platform != "linux":
        name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        fix = "run the program in a Linux container, or record on Linux and check here"
        raise InputError("record", f"cannot intercept libllama on {name}", fix)
    path = shutil.which(command[0])
    if path is None:
        raise InputError(command[0], "is not an executable program", "check its path")
    try:
        refused = why_not(Path(path))
    except (OSError, ValueError) as error:
        raise InputError(path, f"cannot be read: {error}") from None
    if refused:
        raise InputError(command[0], *refused)


def engines_with_recorder() -> list[str]:
    """Return the engines of Python that can be recorded."""
    folder = engines_folder()
    return [name for name in engine_names() if (folder / name / "recorder.py").is_file()]


def variables(folder: Path, options: Options, library: Path | None) -> dict[str, str]:
    """Return the environment variables of a recorded program. library: of libllama's recorder; None
    for an engine in Python, whose recorder Python itself loads at its start."""
    name = "SAMPLER_PARITY_RECORD"
    loads = ("PYTHONPATH", engines_folder().resolve() / "shared" / "hook", os.pathsep)
    if library is not None:
        loads = ("LD_PRELOAD", library, ":")
    variable, path, mark = loads
    before = os.environ.get(variable)
    return {
        variable: f"{path}{mark}{before}" if before else str(path),
        name: str(folder.resolve()),
        f"{name}_ENGINE": options.engine,
        f"{name}_DETAIL": options.detail,
        f"{name}_TEXT": str(int(options.text)),
        f"{name}_LIMIT": str(options.limit),
        f"{name}_KEEP_MS": str(options.keep_ms),
    }


def problems(folder: Path, engine: str = "") -> list[str]:
    """Return what stopped a recording, a line each."""
    if not folder.is_dir():
        return ["nothing is recorded: the program removed the folder of the recording"]
    paths = sorted(folder.glob("*.events"))
    if not paths and engine:
        return [
            f"nothing is recorded: the program never imported {engine} (or Python ran with -I"
            " or -E, which skip the recorder)"
        ]
    if not paths:
        return [
            "nothing is recorded: the program never called a libllama that is loaded dynamically"
            " (a static build cannot be recorded)"
        ]
    ended = [path for path in paths if not is_alive(path.stem) and not _became_another(path)]
    stopped = ((path.stem, _why_stopped(path)) for path in ended)
    return [f"the recording of process {name} stopped: {why}" for name, why in stopped if why]


def _became_another(path: Path) -> bool:
    """Return whether the process called exec: the program that it became is recorded, too."""
    pid, _, number = path.stem.partition("-")
    return path.with_stem(f"{pid}-{int(number or 1) + 1}").exists()


def _why_stopped(path: Path) -> str:
    """Return why the last lines of a process are no end of it."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LAST_LINES))
        for line in file.read().splitlines()[::-1]:
            if line.startswith(b'{"e":"end"'):
                return ""
            if line.startswith(b'{"e":"stopped"'):
                return str(json.loads(line)["why"])
            if line.startswith(b'{"e":"aborted"'):
                return f"the program aborted: {json.loads(line)['why']}"
    return "it was killed, or could not write (a full disk?)"


@contextmanager
def _next_to(module: str, arguments: list[object], early: list[str]) -> Iterator[None]:
    """Run a module of ours next to the program, until we or the program end. early: gets a line if
    it does not last."""
    is_live = module == "live"  # it prints a byte as soon as it follows, and findings on stderr
    process = subprocess.Popen(
        [sys.executable, "-m", f"sampler_parity.programs.recording.{module}", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if is_live else subprocess.DEVNULL,
        stderr=None if is_live else subprocess.DEVNULL,
        start_new_session=True,
    )
    if process.stdout is not None:
        process.stdout.read(1)  # wait until it follows, or has ended
    try:
        yield
    finally:
        with suppress(OSError, subprocess.TimeoutExpired):  # it was killed
            process.communicate(b".", timeout=_LONGEST_END_S)
        process.kill()
        if process.wait():
            early.append(f"the {module} was ended (status {process.returncode}), the program not")


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a program in our place: a terminal's Ctrl-C goes to it, and what ends us ends it."""
    try:
        run = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise InputError(command[0], f"cannot be started: {error.strerror}") from None
    for number in _FORWARDED:
        signal.signal(number, _forward_to(run))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run.wait()


@contextmanager
def _handlers_restored() -> Iterator[None]:
    """Restore the handlers of signals when the recording is whole: none ends it before."""
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, *_FORWARDED)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _forward_to(run: "subprocess.Popen[bytes]") -> Callable[[int, object], None]:
    return lambda number, _frame: run.send_signal(number)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
