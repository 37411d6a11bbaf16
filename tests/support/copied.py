"""Workers of ours as copies of a server that has their modules, instead of new interpreters.

A new one imports for 0.4 to 1.5 s of processor time before its first request, and tests start
hundreds. harness/processes/groups.py describes the streams, environment and end of a copy.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from typing import IO, Any

from sampler_parity.harness.backends import worker
from sampler_parity.harness.processes import groups
from sampler_parity.harness.processes.groups import Forked, ProcessGroup
from sampler_parity.maintenance.selftest import adapters

MAINS = {module.__name__: module.main for module in (worker, adapters)}


@dataclass
class Copied(Forked):
    """The server's child: the server waits for it, and reports its end."""

    process: ForkServerProcess | None = None

    def poll(self) -> int | None:
        assert self.process is not None
        self.returncode = self.process.exitcode
        return self.returncode

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it ended, and the server has not reported that yet
            super().kill()


class _Streams:
    """Numbers of open files, which are sent along to a copy."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __getstate__(self) -> list[Any]:
        return [DupFd(number) for number in self.numbers]

    def __setstate__(self, sent: list[Any]) -> None:
        self.numbers = tuple(one.detach() for one in sent)


def copying(start: Callable[..., ProcessGroup]) -> Callable[..., ProcessGroup]:
    """Return `groups.start`, but with our own workers as copies of the server."""

    def start_or_copy(command: list[str], env: dict[str, str], **options: Any) -> ProcessGroup:
        words = [word for word in command if word != "-P"]
        if words[:2] != [sys.executable, "-m"] or words[2] not in MAINS:
            return start(command, env, **options)
        mark = groups._new_mark()
        process = _copy(words[2:], env | groups._marks(mark), options["stderr"])
        groups.notify(f"group {process.pid}")
        return ProcessGroup(process, mark)

    return start_or_copy


def _copy(arguments: list[str], environment: dict[str, str], errors: IO[bytes]) -> Copied:
    their_stdin, stdin = os.pipe()
    stdout, their_stdout = os.pipe()
    streams = _Streams(their_stdin, their_stdout, errors.fileno())
    process = get_context("forkserver").Process(
        target=_become, args=(arguments, environment, os.getcwd(), streams), daemon=True
    )
    process.start()
    os.close(their_stdin)
    os.close(their_stdout)
    assert process.pid is not None
    pipes = os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0)
    return Copied(process.pid, *pipes, process=process)


def _become(
    arguments: list[str], environment: dict[str, str], folder: str, streams: _Streams
) -> None:
    os.chdir(folder)
    first, second, third = streams.numbers
    groups._become(MAINS[arguments[0]], arguments, environment, (first, second, third))
