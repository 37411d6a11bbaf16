"""Supervise a process that starts others: end what it leaves behind.

`python -I -S supervisor.py MARK FOLDER...` reads a line from stdin for each start of its owner:
`group N`, `process N`, and `gone N` when that has ended. The system closes the pipe when the owner
ends, also by SIGKILL. The supervisor then kills what is left: the groups, the processes and, on
Linux, every process with MARK in its environment. It deletes scratch files whose maker has ended.
It imports nothing of ours, so it starts fast.
"""

import contextlib
import os
import signal
import stat
import sys
import time

PREFIX = "sampler-parity-"  # of the name of a scratch file
# The environment variable with the marks of all supervisors above, and one's own.
MARKS = "SAMPLER_PARITY_KEPT"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_ROUNDS = 500
_PAUSE_S = 0.002  # what was killed takes a moment to end, and to let go of its files


def kill(pid: int, kind: str = "process") -> None:
    """Kill a process, or the group that it leads."""
    with contextlib.suppress(OSError):  # it has ended
        if kind == "group" and sys.platform == "win32":
            _kill_tree(pid)
        elif kind == "group":
            os.killpg(pid, _KILL)
        else:
            os.kill(pid, _KILL)


def _kill_tree(pid: int) -> None:
    """Kill a process and its descendants on Windows, which cannot kill a group. A process whose
    parent has ended is not found."""
    import subprocess  # takes longer to load than all else here

    command = ["taskkill", "/T", "/F", "/PID", str(pid)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def end_marked(mark: str) -> None:
    """Kill the processes with the mark, until none is left."""
    for _ in range(_ROUNDS):
        marked = _marked(mark.encode())
        if not marked:
            return
        for pid in marked:
            kill(pid)
        time.sleep(_PAUSE_S)


def _marked(mark: bytes) -> list[int]:
    marked = []
    for name in os.listdir("/proc") if sys.platform == "linux" else []:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read():
                        marked.append(int(name))
            except OSError:
                pass  # it has ended, or is another user's
    return marked


def end_orphans(spared: set[int]) -> None:
    """Kill the children of this process that it did not start, until none is left.

    Such a child is a descendant whose parent has ended. It has another session than this process,
    and is not spared. Only a subreaper on Linux has such children.
    """
    for _ in range(_ROUNDS):
        orphans = _orphans(spared)
        if not orphans:
            return
        for pid in orphans:
            kill(pid)
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_PAUSE_S)


def _orphans(spared: set[int]) -> list[int]:
    pid, session, orphans = os.getpid(), os.getsid(0), []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in spared:
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                _, parent, _, its = file.read().rpartition(b")")[2].split()[:4]
                if int(parent) == pid and int(its) != session:
                    orphans.append(int(name))
    return orphans


def sweep(folder: str) -> None:
    """Delete the scratch files whose maker has ended: no process holds their lock."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):  # it is in use, or another user's
                _delete_folder(path) if _is_folder(path) else _delete_if_free(path)


def _is_folder(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _delete_folder(path: str) -> None:
    """Delete a folder that a backend put in the place of its scratch file."""
    import shutil  # seldom needed, and it takes longer to load than all else here

    shutil.rmtree(path)


def _delete_if_free(path: str) -> None:
    if sys.platform == "win32":
        os.unlink(path)  # which fails for a file that is open
        return
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(file)


def main() -> None:
    _, mark, *folders = sys.argv
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    for folder in folders:
        sweep(folder)
    supervised: dict[int, str] = {}
    for line in sys.stdin:
        kind, _, number = line.partition(" ")
        if kind == "gone":
            supervised.pop(int(number), None)
        else:
            supervised[int(number)] = kind
    for pid, kind in supervised.items():
        kill(pid, kind)
    end_marked(mark)
    for _ in range(3):
        time.sleep(10 * _PAUSE_S)
        for folder in folders:
            sweep(folder)


if __name__ == "__main__":
    main()
