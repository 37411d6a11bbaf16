"""Starting programs in a group of their own, and ending them with all that they started.

Every process that starts any has a keeper (harness/processes/keeper.py), which ends them should
their starter be gone first, in whichever way.
"""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sampler_parity.harness.processes import forked, keeper
from sampler_parity.harness.processes.forked import Forked

MEMORY = Path("/dev/shm")
if sys.platform == "win32":
    _APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _APART: dict[str, Any] = {"start_new_session": True}


@dataclass
class _Keeper:
    """The keeper of the process with this id, and the pipe to it."""

    owner: int
    mark: str
    process: subprocess.Popen[bytes]
    started: int = 0

    def say(self, line: str) -> None:
        """Raises OSError for a keeper that was killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())


@dataclass
class Group:
    """A program and all that it starts. mark: in the environment of each of them."""

    process: subprocess.Popen[bytes] | Forked
    mark: str
    ended: bool = field(default=False)

    def end(self) -> None:
        """Kill them all; what has ended by itself may have left others behind."""
        if self.ended:
            return
        self.ended = True
        keeper.kill(self.process.pid, "group")
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        keeper.end_marked(self.mark)
        tell(f"gone {self.process.pid}")


_keeper: _Keeper | None = None


def start(command: list[str], env: dict[str, str], **options: Any) -> Group:
    """A program in a group, out of reach of what a terminal sends to ours. Raises OSError."""
    mark = _new_mark()
    process = subprocess.Popen(command, env=env | _marks(mark), **_APART, **options)
    tell(f"group {process.pid}")
    return Group(process, mark)


def fork(main: Callable[[], None], arguments: list[str], env: dict[str, str], errors: Any) -> Group:
    """A copy of this process in a group of its own, which runs main. Raises OSError."""
    mark = _new_mark()
    process = forked.fork(main, arguments, env | _marks(mark), errors)
    tell(f"group {process.pid}")
    return Group(process, mark)


def _new_mark() -> str:
    mine = _mine()
    mine.started += 1
    return f"{mine.mark}.{mine.started}."


def _marks(mark: str) -> dict[str, str]:
    return {keeper.MARKS: f"{os.environ[keeper.MARKS]} {mark}"}


def keep() -> None:
    """From now on there is a keeper, and what this process leaves behind is swept."""
    _mine()


def tell(line: str) -> None:
    """A line to the keeper of this process; where it was killed, to a new one."""
    try:
        _mine().say(line)
    except OSError:
        forget()
        _mine().say(line)


def forget() -> None:
    """Let go of the keeper: it then ends what it keeps. What was forked lets go of its parent's."""
    global _keeper
    if _keeper is not None and _keeper.process.stdin is not None:
        with contextlib.suppress(OSError):
            _keeper.process.stdin.close()
    _keeper = None


def _mine() -> _Keeper:
    global _keeper
    if _keeper is not None and _keeper.owner != os.getpid():
        forget()
    if _keeper is None:
        mark = f"{os.getpid()}-{secrets.token_hex(8)}"
        folders = dict.fromkeys([str(MEMORY), tempfile.gettempdir()])
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, mark, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={key: value for key, value in os.environ.items() if key != keeper.MARKS},
            bufsize=0,
            **_APART,
        )
        process.returncode = 0  # nobody waits for it: it outlives us
        _keeper = _Keeper(os.getpid(), mark, process)
        os.environ[keeper.MARKS] = f"{os.environ.get(keeper.MARKS, '')} {mark}"
    return _keeper
