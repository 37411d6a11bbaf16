"""Attempts to leave the sandbox: `python -I -S attempts.py TARGETS NAME...`, a JSON object each.

It prints the outcome of each attempt, in a process of its own: the name of the error, `done`, or
the signal that ended it. TARGETS has what lies outside: a process, files, sockets, a terminal. With
Python's library alone. attempts.toml has the attempts that are one system call.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import shutil
import signal
import socket
import struct
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

LISTS = [
    Path(__file__).parents[2] / "harness/processes/system_calls.txt",
    Path(__file__).parents[1] / "support/refused_calls.txt",
]
COLUMN = {"x86_64": 1, "aarch64": 2}[platform.machine()]
TIMEOUT_S = 60
PRIVATE = "/dev/shm"
libc = ctypes.CDLL(None, use_errno=True)
TARGETS: dict[str, Any] = {}
CALLS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


class Attempt(NamedTuple):
    """group: its row on the page. outside: it does no harm where there is no sandbox. heavy: it
    takes a second or more."""

    group: str
    act: Callable[[], object]
    outside: bool = False
    heavy: bool = False


ATTEMPTS: dict[str, Attempt] = {}


def numbers() -> dict[str, int]:
    """Return the number of each system call on this machine."""
    lines = [line for path in LISTS for line in path.read_text().splitlines()]
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {row[0]: int(row[COLUMN]) for row in rows if row[COLUMN] != "-"}


NUMBERS = numbers()
ROOM = bytes(256)


def system(name: str, *arguments: int | bytes) -> int:
    """Make a system call. Raises OSError."""
    words = [word if isinstance(word, bytes) else ctypes.c_long(word) for word in arguments]
    result = int(libc.syscall(ctypes.c_long(NUMBERS[name]), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _argument(written: int | str | list[int]) -> int | bytes:
    """Return an argument of attempts.toml."""
    match written:
        case "$pid":
            return int(TARGETS["pid"])
        case "$parent":
            return os.getppid()
        case "$buffer":
            return ROOM
        case str():
            return written.encode()
        case list():
            return struct.pack(f"{len(written)}i", *written)
    return written


def _call(name: str, written: list[Any]) -> None:
    system(name, *map(_argument, written))


def add(group: str, name: str, act: Callable[[], object], **more: bool) -> None:
    assert name not in ATTEMPTS, name
    ATTEMPTS[name] = Attempt(group, act, **more)


def calls(group: str) -> None:
    """Add the attempts of attempts.toml, as far as this machine has their calls."""
    for name, row in CALLS[group].items():
        about = {"with": row} if isinstance(row, list) else row
        call = about.get("call", name)
        if call in NUMBERS:
            add(group, name, partial(_call, call, about["with"]), outside="outside" in about)


# Processes -------------------------------------------------------------------------------------

OTHERS = "Other processes"
QUEUED = struct.pack("3i116x", 0, 0, -1)  # siginfo_t of SI_QUEUE
calls(OTHERS)


def _kill(number: int) -> None:
    os.kill(TARGETS["pid"], number)


def _tgkill() -> None:
    system("tgkill", TARGETS["pid"], TARGETS["pid"], 0)


def _schedule() -> None:
    os.sched_setscheduler(TARGETS["pid"], 0, os.sched_param(0))


def _limit() -> None:
    resource.prlimit(TARGETS["pid"], resource.RLIMIT_NOFILE)


for number in (0, signal.SIGTERM, signal.SIGSTOP):
    add(OTHERS, f"kill with {number}", partial(_kill, number), outside=number == 0)
add(OTHERS, "tgkill", _tgkill, outside=True)
add(OTHERS, "rt_sigqueueinfo", lambda: system("rt_sigqueueinfo", TARGETS["pid"], 1, QUEUED))
add(OTHERS, "sched_setaffinity", lambda: os.sched_setaffinity(TARGETS["pid"], [0]))
add(OTHERS, "sched_setscheduler", _schedule)
add(OTHERS, "setpriority", lambda: os.setpriority(os.PRIO_PROCESS, TARGETS["pid"], 19))
add(OTHERS, "prlimit64", _limit, outside=True)


def _look_at(part: str) -> None:
    path = f"/proc/{TARGETS['pid']}/{part}"
    if os.path.isdir(path):
        os.listdir(path)
    else:
        os.close(os.open(path, os.O_RDONLY))


for part in ("mem", "environ", "maps", "fd", "root"):
    add(OTHERS, f"/proc/PID/{part}", partial(_look_at, part), outside=part in ("environ", "maps"))

# Namespaces ------------------------------------------------------------------------------------

NAMESPACES = "Namespaces"
FLAGS = {
    "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
    "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80,
}  # fmt: skip


def _clone(name: str, *arguments: int | bytes) -> None:
    if system(name, *arguments) == 0:
        os._exit(0)
    os.wait()


for kind, flag in FLAGS.items():
    harmless = kind == "user"
    add(NAMESPACES, f"unshare {kind}", partial(system, "unshare", flag), outside=harmless)
    if kind != "time":
        cloned = partial(_clone, "clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
        add(NAMESPACES, f"clone {kind}", cloned, outside=harmless)
add(NAMESPACES, "clone3", lambda: _clone("clone3", ROOM, 88))
add(NAMESPACES, "setns", lambda: system("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0))

# Mounts, the kernel, the machine ---------------------------------------------------------------

MACHINE = "The machine"
for group in ("Mounts", "The kernel", MACHINE):
    calls(group)
for path in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/overcommit_memory",
    "/proc/self/oom_score_adj",
    "/proc/self/uid_map",
    "/sys/kernel/mm/transparent_hugepage/enabled",
):
    add(MACHINE, f"write {path}", partial(os.open, path, os.O_WRONLY))
for device in ("mem", "kmsg", "tty", "ptmx", "kvm", "fuse", "net/tun"):
    add(MACHINE, f"/dev/{device}", partial(os.open, f"/dev/{device}", os.O_RDONLY))

TERMINAL = "A terminal of yours"


def _control(number: int, argument: bytes) -> None:
    fcntl.ioctl(TARGETS["terminal"], number, argument)


add(TERMINAL, "TIOCSTI", partial(_control, 0x5412, b"x"))
add(TERMINAL, "TIOCLINUX", partial(_control, 0x541C, b"\6"))
add(TERMINAL, "TIOCSETD", partial(_control, 0x5423, struct.pack("i", 0)), outside=True)

# Rights ----------------------------------------------------------------------------------------

RIGHTS = "Rights"
calls(RIGHTS)


def _raise(limit: int, most: int) -> None:
    system("prlimit64", 0, limit, struct.pack("QQ", most, most), 0)


add(RIGHTS, "SCHED_FIFO", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
add(RIGHTS, "nice -5", lambda: os.nice(-5))
for name, most in {"NPROC": 2049, "NOFILE": 4097, "FSIZE": (1 << 30) + 1, "CORE": 1}.items():
    limit = getattr(resource, f"RLIMIT_{name}")
    add(RIGHTS, f"raise RLIMIT_{name}", partial(_raise, limit, most))

# Keys ------------------------------------------------------------------------------------------

KEYS = "Keys"
calls(KEYS)


def _shows(path: str) -> None:
    if not Path(path).read_bytes():
        raise OSError(errno.ENODATA, path)


add(KEYS, "/proc/keys", partial(_shows, "/proc/keys"), outside=True)

# Sockets ---------------------------------------------------------------------------------------

SOCKETS = "Sockets"
calls(SOCKETS)


def _connect(family: int, address: Any) -> None:
    with socket.socket(family) as made:
        made.connect(address)


def _tcp() -> tuple[str, int]:
    return "127.0.0.1", TARGETS["port"]


def _bind() -> None:
    socket.socket(socket.AF_UNIX).bind(f"{TARGETS['folder']}/b")


for name, act in {
    "connect by TCP": lambda: _connect(socket.AF_INET, _tcp()),
    "connect to a Unix socket": lambda: _connect(socket.AF_UNIX, TARGETS["unix"]),
    "connect to an abstract one": lambda: _connect(socket.AF_UNIX, "\0" + TARGETS["abstract"]),
    "datagrams of a pair": lambda: socket.socketpair(type=socket.SOCK_DGRAM),
    "bind in a folder of yours": _bind,
}.items():
    add(SOCKETS, name, act, outside=True)
add(SOCKETS, "TCP fast open", lambda: socket.socket().sendto(b"x", 0x20000000, _tcp()))

# Communication ---------------------------------------------------------------------------------

calls("Messages")

# Files -----------------------------------------------------------------------------------------

FILES = "Your files"


def _file(name: str, act: Callable[[str, str], object], group: str = FILES) -> None:
    """Add an attempt on a file outside, and its folder."""
    add(group, name, lambda: act(TARGETS["file"], TARGETS["folder"]), outside=True)


_file("open to write", lambda file, _: os.open(file, os.O_WRONLY))
_file("open to append", lambda file, _: os.open(file, os.O_WRONLY | os.O_APPEND))
_file("truncate", lambda file, _: os.truncate(file, 0))
_file("create", lambda _, folder: os.open(f"{folder}/new", os.O_CREAT | os.O_WRONLY))
_file("chmod", lambda file, _: os.chmod(file, 0o666))
_file("chown", lambda file, _: os.chown(file, os.getuid(), -1))
_file("utime", lambda file, _: os.utime(file))
_file("mkdir", lambda _, folder: os.mkdir(f"{folder}/d"))
_file("symlink there", lambda _, folder: os.symlink("/", f"{folder}/s"))
_file("hard link there", lambda file, folder: os.link(file, f"{folder}/h"))
_file("mkfifo", lambda _, folder: os.mkfifo(f"{folder}/f"))
_file("rename", lambda file, folder: os.rename(file, f"{folder}/r"))
_file("unlink", lambda _, folder: os.unlink(f"{folder}/r"))
_file("a memory map", lambda _, folder: _map(f"{folder}/kept"))
_file("through a symbolic link", lambda _, folder: _through(f"{folder}/kept"))


def _map(path: str) -> None:
    with open(path, "r+b") as file:
        mmap.mmap(file.fileno(), 0)[0:1] = b"x"


def _lists(path: str) -> None:
    if not os.listdir(path):
        raise OSError(errno.ENOENT, path)


def _through(path: str) -> None:
    link = f"{PRIVATE}/{os.getpid()}"
    os.symlink(path, link)
    try:
        os.close(os.open(link, os.O_WRONLY))
    finally:
        os.unlink(link)


add(FILES, "setxattr", lambda: os.setxattr(TARGETS["file"], "user.attempt", b"x"))
add(FILES, "hard link into /dev/shm", lambda: os.link(f"{TARGETS['folder']}/kept", f"{PRIVATE}/h"))
add(FILES, "a device in /dev/shm", lambda: os.mknod(f"{PRIVATE}/n", 0o60600, os.makedev(8, 0)))
for place, path in {
    "at home": os.path.expanduser("~/.attempt"),
    "in /tmp": "/tmp/.attempt",
    "in /run": "/run/attempt",
    "in /dev": "/dev/attempt",
}.items():
    add(FILES, f"write {place}", partial(os.open, path, os.O_CREAT | os.O_RDWR))
add(FILES, "a file in /run", lambda: _lists("/run"), outside=True)
ALLOWED = "Allowed"
add(ALLOWED, "read a file of yours", lambda: _shows(f"{TARGETS['folder']}/kept"), outside=True)
add(ALLOWED, "write to /dev/shm", lambda: Path(PRIVATE, "own").write_text("x"))


def _run_memory() -> None:
    file = os.memfd_create("attempt", 0)
    os.write(file, Path("/bin/true").read_bytes())
    if (pid := os.fork()) == 0:
        system("execveat", file, b"", 0, 0, 0x1000)
    if os.waitpid(pid, 0)[1]:
        raise OSError(errno.ECHILD, "execveat")


def _reserve() -> None:
    mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE


def _make_code() -> None:
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xc3" if COLUMN == 1 else bytes.fromhex("c0035fd6"))  # return
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


add(ALLOWED, "execveat of a memfd", _run_memory, outside=True)
add(ALLOWED, "make code in memory", _make_code, outside=True)
add(ALLOWED, "reserve 1 TiB, as sanitizers do", _reserve, outside=True)
add(ALLOWED, "timer_create", lambda: system("timer_create", 1, 0, ROOM), outside=True)
add(ALLOWED, "socketpair", lambda: socket.socketpair(), outside=True)
add(ALLOWED, "fork", partial(_clone, "clone", signal.SIGCHLD, 0, 0, 0, 0), outside=True)

# Limits ----------------------------------------------------------------------------------------

LIMITS = "Limits"


def _fill_processes() -> None:
    for _ in range(4096):
        if os.fork() == 0:
            signal.pause()


def _exhaust_files() -> None:
    for _ in range(8192):
        os.open("/", os.O_PATH)


def _dump() -> None:
    os.mkdir(f"{PRIVATE}/dump")
    os.chdir(f"{PRIVATE}/dump")
    if (pid := os.fork()) == 0:
        os.abort()
    os.waitpid(pid, 0)
    if not os.listdir():
        raise OSError(errno.ENODATA, "core")


def _allocate(path: str, size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        os.ftruncate(file, size)
        os.posix_fallocate(file, 0, size)
    finally:
        os.close(file)


def _fill_private() -> None:
    os.mkdir(f"{PRIVATE}/fill")
    try:
        for i in range(4):
            _allocate(f"{PRIVATE}/fill/{i}", 1 << 29)
    finally:
        shutil.rmtree(f"{PRIVATE}/fill")


add(LIMITS, "open files without end", _exhaust_files)
add(LIMITS, "a core dump", _dump)
add(LIMITS, "a file of 2 GiB", lambda: _allocate(f"{PRIVATE}/large", 1 << 31))
add(LIMITS, "a scratch file of 2 GiB", lambda: _allocate(TARGETS["scratch"], 1 << 31))
add(LIMITS, "a memfd of 2 GiB", lambda: os.ftruncate(_memory(), 1 << 31))
add(LIMITS, "2 GiB in /dev/shm", _fill_private, heavy=True)
add(LIMITS, "processes without end", _fill_processes, heavy=True)


def _memory() -> int:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return os.memfd_create("attempt")


def outcome(act: Callable[[], object]) -> str:
    """Return how an attempt ends that runs in a process of its own."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.alarm(TIMEOUT_S)
        try:
            act()
            word = "done"
        except OSError as error:
            word = errno.errorcode[error.errno or 0]
        except BaseException as error:
            word = f"{type(error).__name__}: {error}"
        os.write(writes, word.encode())
        os._exit(0)
    os.close(writes)
    status = os.waitpid(pid, 0)[1]
    word = os.read(reads, 100).decode() if status == 0 else ""
    os.close(reads)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)  # what it started
    return word or f"ended by {signal.Signals(os.WTERMSIG(status)).name}"


def main() -> None:
    TARGETS.update(json.loads(sys.argv[1]))
    print(json.dumps({name: outcome(ATTEMPTS[name].act) for name in sys.argv[2:]}))


if __name__ == "__main__":
    main()
