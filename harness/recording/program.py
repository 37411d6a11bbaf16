"""Run a program with the recorder in it. Its output and its exit status stay its own."""

import datetime
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sampler_parity.harness.bundle.machine import describe
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.recording.detail import Detail
from sampler_parity.harness.recording.events import Stopped
from sampler_parity.harness.recording.info import RecordingInfo
from sampler_parity.harness.recording.library import recorder
from sampler_parity.harness.recording.reader import Recording

_ELF, _PROGRAM_INTERPRETER = b"\x7fELF", 3
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Options:
    """What to record. keep, limit: bytes, 0 for all; keep_ms: milliseconds, 0 for all."""

    detail: Detail = "survivors"
    text: bool = True
    keep: int = 0
    keep_ms: int = 0
    limit: int = 0


def record(
    command: list[str], folder: Path, options: Options, begun: Callable[[], None] = lambda: None
) -> tuple[int, list[str]]:
    """Run a program until it ends. Returns its exit status, below 0 for a signal, and a line for
    each problem of the recording. begun: called when the folder is there.

    Raises InputError, before it starts the program, if it cannot be recorded.
    """
    check(command)
    library = recorder()
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(folder, "exists already", "choose another folder with -o") from None
    except OSError as error:
        raise cannot_write(folder, error) from None
    info = RecordingInfo(
        version=version("sampler-parity"),
        command=command,
        detail=options.detail,
        text=options.text,
        started=_now(),
        machine=describe(),
    )
    info.write(folder)
    begun()
    with _kept(folder, options):
        status = _run(command, os.environ | variables(folder, options, library))
    with suppress(OSError):
        ended = info.model_copy(update={"ended": _now(), "status": status})
        ended.sealed(folder).write(folder)
    return status, problems(folder)


def check(command: list[str]) -> None:
    """Check that a program can be recorded. Raises InputError."""
    if sys.platform != "linux":
        name = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        fix = "run the program in a Linux container, or record on Linux and check here"
        raise InputError("record", f"cannot come between a program and libllama on {name}", fix)
    path = shutil.which(command[0])
    if path is None:
        raise InputError(command[0], "is no program")
    if is_static(Path(path)):
        fix = "build it with BUILD_SHARED_LIBS=ON"
        raise InputError(command[0], "is linked statically: no recorder can be put into it", fix)


def is_static(path: Path) -> bool:
    """Return whether a file is a program of 64 bits that needs no dynamic linker."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != _ELF or head[4] != 2:
            return False
        (at,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    kinds = [struct.unpack_from("<I", table, i * size)[0] for i in range(len(table) // size)]
    return _PROGRAM_INTERPRETER not in kinds


def variables(folder: Path, options: Options, library: Path) -> dict[str, str]:
    """Return the environment variables of a recorded program."""
    before = os.environ.get("LD_PRELOAD")
    name = "SAMPLER_PARITY_RECORD"
    return {
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
        name: str(folder.resolve()),
        f"{name}_DETAIL": options.detail,
        f"{name}_TEXT": str(int(options.text)),
        f"{name}_LIMIT": str(options.limit),
        f"{name}_KEEP_MS": str(options.keep_ms),
    }


def problems(folder: Path) -> list[str]:
    """Return what stopped a recording, a line each."""
    try:
        processes = Recording(folder).processes
    except InputError:
        return [
            "nothing is recorded: the program never called a libllama that is loaded dynamically"
            " (a static build cannot be recorded)"
        ]
    return [
        f"the recording of process {process.name} stopped: {event.why}"
        for process in processes
        for event in process.events()
        if isinstance(event, Stopped)
    ]


@contextmanager
def _kept(folder: Path, options: Options) -> Iterator[None]:
    """Run the compactor next to the program. Without it the recording only grows."""
    module = "sampler_parity.harness.recording.compactor"
    numbers = [str(n) for n in (options.keep, options.keep_ms, options.limit)]
    compactor = subprocess.Popen(
        [sys.executable, "-m", module, str(folder), *numbers],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert compactor.stdin is not None
        with suppress(OSError):
            compactor.stdin.close()
        compactor.wait()


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a program in our place: a terminal's Ctrl-C goes to it, and what ends us ends it."""
    try:
        run = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise InputError(command[0], f"cannot be started: {error.strerror}") from None
    earlier = {number: signal.signal(number, _forward_to(run)) for number in _FORWARDED}
    earlier[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return run.wait()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _forward_to(run: "subprocess.Popen[bytes]") -> Callable[[int, object], None]:
    return lambda number, _frame: run.send_signal(number)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
