"""Attempts to leave the sandbox: `python -I -S attempts.py TARGETS NAME...`, a JSON object each.

It prints the outcome of each attempt, in a process of its own: the name of the error, `done`, or
the signal that ended it. TARGETS has what lies outside: a process, files, sockets, a terminal. With
Python's library alone.
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


def system(name: str, *arguments: int | bytes | str) -> int:
    """Make a system call. A text is the key of a number in TARGETS. Raises OSError."""
    words = []
    for argument in arguments:
        given = TARGETS[argument] if isinstance(argument, str) else argument
        words.append(given if isinstance(given, bytes) else ctypes.c_long(given))
    result = int(libc.syscall(ctypes.c_long(NUMBERS[name]), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def calls(group: str, *rows: tuple[Any, ...], outside: bool = False) -> None:
    """Add attempts that are one call each: name of the call, arguments."""
    for name, *arguments in rows:
        if name in NUMBERS:
            ATTEMPTS[name] = Attempt(group, partial(system, name, *arguments), outside)


def add(group: str, name: str, act: Callable[[], object], **more: bool) -> None:
    assert name not in ATTEMPTS, name
    ATTEMPTS[name] = Attempt(group, act, **more)


ROOM = bytes(256)
QUEUED = struct.pack("3i116x", 0, 0, -1)  # siginfo_t of SI_QUEUE

# Processes -------------------------------------------------------------------------------------

OTHERS = "Other processes"
calls(OTHERS, ("ptrace", 16, "pid"))
add(OTHERS, "ptrace of the parent", lambda: system("ptrace", 0x4206, os.getppid(), 0, 0))
add(OTHERS, "ptrace by the parent", lambda: system("ptrace", 0, 0, 0, 0), outside=True)
calls(
    OTHERS,
    ("process_vm_readv", "pid", ROOM, 0, ROOM, 0, 0),
    ("process_vm_writev", "pid", ROOM, 0, ROOM, 0, 0),
    ("pidfd_open", "pid", 0),
    ("pidfd_getfd", -1, 0, 0),
    ("pidfd_send_signal", -1, 0, 0, 0),
    ("process_madvise", -1, 0, 0, 0, 0),
    ("process_mrelease", -1, 0),
    ("kcmp", "pid", "pid", 0, 0, 0),
    ("move_pages", "pid", 0, 0, 0, 0, 0),
    ("migrate_pages", "pid", 0, 0, 0),
    ("get_robust_list", "pid", ROOM, ROOM),
    ("ioprio_set", 1, "pid", 0x4004),
)


def _kill(number: int) -> None:
    os.kill(TARGETS["pid"], number)


for number in (0, signal.SIGTERM, signal.SIGSTOP):
    add(OTHERS, f"kill with {number}", partial(_kill, number), outside=number == 0)
add(OTHERS, "tgkill", lambda: system("tgkill", "pid", "pid", 0), outside=True)
add(OTHERS, "rt_sigqueueinfo", lambda: system("rt_sigqueueinfo", "pid", 1, QUEUED))
add(OTHERS, "sched_setaffinity", lambda: os.sched_setaffinity(TARGETS["pid"], [0]))
add(
    OTHERS,
    "sched_setscheduler",
    lambda: os.sched_setscheduler(TARGETS["pid"], 0, os.sched_param(0)),
)
add(OTHERS, "setpriority", lambda: os.setpriority(os.PRIO_PROCESS, TARGETS["pid"], 19))
add(
    OTHERS,
    "prlimit64",
    lambda: resource.prlimit(TARGETS["pid"], resource.RLIMIT_NOFILE),
    outside=True,
)


def _look(path: str) -> None:
    if os.path.isdir(path):
        os.listdir(path)
    else:
        os.close(os.open(path, os.O_RDONLY))


def _look_at(part: str) -> None:
    _look(f"/proc/{TARGETS['pid']}/{part}")


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

# Mounts ----------------------------------------------------------------------------------------

MOUNTS = "Mounts"
calls(
    MOUNTS,
    ("mount", b"none", b"/dev/shm", b"tmpfs", 0, 0),
    ("umount2", b"/run", 2),
    ("pivot_root", b"/dev/shm", b"/dev/shm"),
    ("chroot", b"/dev/shm"),
    ("open_tree", -100, b"/", 1),
    ("open_tree_attr", -100, b"/", 0, 0, 0),
    ("move_mount", -1, b"", -1, b"", 4),
    ("fsopen", b"tmpfs", 0),
    ("fsconfig", -1, 0, 0, 0, 0),
    ("fsmount", -1, 0, 0),
    ("fspick", -100, b"/", 0),
    ("mount_setattr", -100, b"/", 0, ROOM, 32),
    ("statmount", ROOM, ROOM, 256, 0),
    ("listmount", ROOM, ROOM, 16, 0),
    ("name_to_handle_at", -100, b"/", ROOM, ROOM, 0),
    ("open_by_handle_at", -100, ROOM, 0),
    ("quotactl", 0x80000700, b"/dev/sda", 0, 0),
    ("quotactl_fd", 0, 0x80000700, 0, 0),
)

# The kernel ------------------------------------------------------------------------------------

KERNEL = "The kernel"
calls(
    KERNEL,
    ("bpf", 0, ROOM, 120),
    ("perf_event_open", ROOM, 0, -1, -1, 0),
    ("userfaultfd", 1),
    ("io_uring_setup", 8, bytes(120)),
    ("io_uring_enter", -1, 0, 0, 0, 0, 0),
    ("io_uring_register", -1, 0, 0, 0),
    ("io_setup", 8, ROOM),
    ("kexec_load", 0, 0, 0, 0),
    ("kexec_file_load", -1, -1, 0, 0, 0),
    ("init_module", ROOM, 0, ROOM),
    ("finit_module", -1, ROOM, 0),
    ("delete_module", b"none", 0),
    ("reboot", 0, 0, 0, 0),
    ("swapon", b"/none", 0),
    ("swapoff", b"/none"),
    ("acct", b"/none"),
    ("syslog", 3, ROOM, 256),
    ("vhangup",),
    ("sync",),
    ("iopl", 0),
    ("ioperm", 0, 1, 0),
    ("modify_ldt", 0, ROOM, 256),
    ("personality", 0xFFFFFFFF),
    ("lookup_dcookie", 0, ROOM, 256),
    ("uselib", b"/none"),
    ("sysfs", 3),
    ("ustat", 0, ROOM),
    ("remap_file_pages", 0, 0, 0, 0, 0),
    ("memfd_secret", 0),
    ("vmsplice", -1, 0, 0, 0),
    ("splice", -1, 0, -1, 0, 0, 0),
    ("tee", -1, -1, 0, 0),
    ("set_mempolicy", 0, 0, 0),
    ("mbind", 0, 0, 0, 0, 0, 0),
    ("landlock_create_ruleset", 0, 0, 1),
    ("landlock_restrict_self", -1, 0),
    ("fanotify_init", 0, 0),
    ("inotify_init1", 0),
    ("seccomp", 2, 0, 0),
    ("lsm_get_self_attr", 100, ROOM, ROOM, 0),
    ("map_shadow_stack", 0, 4096, 0),
    ("cachestat", 0, ROOM, ROOM, 0),
)
MACHINE = "The machine"
calls(
    MACHINE,
    ("sethostname", b"taken", 5),
    ("setdomainname", b"taken", 5),
    ("settimeofday", ROOM, 0),
    ("clock_settime", 0, ROOM),
    ("adjtimex", ROOM),
    ("clock_adjtime", 0, ROOM),
)
for path in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/overcommit_memory",
    "/proc/self/oom_score_adj",
    "/proc/self/uid_map",
    "/sys/kernel/mm/transparent_hugepage/enabled",
):
    add(MACHINE, f"write {path}", partial(os.open, path, os.O_WRONLY))
for path in (
    "/dev/mem",
    "/dev/kmsg",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
):
    add(MACHINE, path, partial(os.open, path, os.O_RDONLY))
TERMINAL = "A terminal of yours"
add(TERMINAL, "TIOCSTI", lambda: fcntl.ioctl(TARGETS["terminal"], 0x5412, b"x"))
add(TERMINAL, "TIOCLINUX", lambda: fcntl.ioctl(TARGETS["terminal"], 0x541C, b"\6"))
add(
    TERMINAL,
    "TIOCSETD",
    lambda: fcntl.ioctl(TARGETS["terminal"], 0x5423, struct.pack("i", 0)),
    outside=True,
)

# Rights ----------------------------------------------------------------------------------------

RIGHTS = "Rights"


def _raise(limit: int, most: int) -> None:
    system("prlimit64", 0, limit, struct.pack("QQ", most, most), 0)


calls(
    RIGHTS,
    ("setuid", 12345),
    ("setgid", 12345),
    ("setreuid", 12345, 12345),
    ("setregid", 12345, 12345),
    ("setresuid", 12345, 12345, 12345),
    ("setresgid", 12345, 12345, 12345),
    ("setfsuid", 12345),
    ("setfsgid", 12345),
    ("setgroups", 0, 0),
    ("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 1, 1, 0, 0, 0, 0)),
)
for name, *words in (
    ("PR_SET_SECCOMP", 22, 0, 0, 0, 0),
    ("PR_SET_MM", 35, 1, 0, 0, 0),
    ("PR_SET_SECUREBITS", 28, 1, 0, 0, 0),
    ("PR_CAPBSET_DROP", 24, 0, 0, 0, 0),
    ("PR_CAP_AMBIENT", 47, 2, 0, 0, 0),
    ("PR_SET_NO_NEW_PRIVS to 0", 38, 0, 0, 0, 0),
):
    add(RIGHTS, str(name), partial(system, "prctl", *words))
add(RIGHTS, "SCHED_FIFO", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
add(RIGHTS, "nice -5", lambda: os.nice(-5))
for limit, most in (
    ("NPROC", 2049),
    ("NOFILE", 4097),
    ("FSIZE", (1 << 30) + 1),
    ("CORE", 1),
):
    raised = partial(_raise, getattr(resource, f"RLIMIT_{limit}"), most)
    add(RIGHTS, f"raise RLIMIT_{limit}", raised)

# Keys ------------------------------------------------------------------------------------------

KEYS = "Keys"
calls(
    KEYS,
    ("add_key", b"user", b"attempt", b"x", 1, -2),  # to the keyring of the process itself
    ("request_key", b"user", b"none", 0, 0),
    outside=True,
)
add(KEYS, "keyctl of the session", lambda: system("keyctl", 0, -3, 1, 0, 0), outside=True)
add(KEYS, "keyctl of the user", lambda: system("keyctl", 0, -4, 1, 0, 0), outside=True)
add(KEYS, "keyctl with a new session", lambda: system("keyctl", 1, 0, 0, 0, 0), outside=True)
add(KEYS, "keyctl read", lambda: system("keyctl", 11, -4, ROOM, 256, 0), outside=True)
add(KEYS, "/proc/keys", lambda: _shows("/proc/keys"), outside=True)


def _shows(path: str) -> None:
    with open(path, "rb") as file:
        if not file.read():
            raise OSError(errno.ENODATA, path)


# Sockets ---------------------------------------------------------------------------------------

SOCKETS = "Sockets"


def _socket(family: int, kind: int, protocol: int = 0) -> None:
    system("socket", family, kind, protocol)


for name, family, variety, protocol, harmless in (
    ("Unix datagram", 1, 2, 0, True),
    ("UDP", 2, 2, 0, True),
    ("UDP over IPv6", 10, 2, 0, True),
    ("ICMP", 2, 2, 1, False),
    ("raw IP", 2, 3, 255, False),
    ("SCTP", 2, 1, 132, False),
    ("MPTCP", 2, 1, 262, False),
    ("AF_NETLINK", 16, 3, 0, True),
    ("AF_PACKET", 17, 3, 0, False),
    ("AF_KEY", 15, 3, 2, False),
    ("AF_ALG", 38, 5, 0, False),
    ("AF_VSOCK", 40, 1, 0, False),
    ("AF_BLUETOOTH", 31, 3, 1, False),
    ("AF_CAN", 29, 3, 1, False),
    ("AF_TIPC", 30, 1, 0, False),
    ("AF_RDS", 21, 5, 0, False),
    ("AF_SMC", 43, 1, 0, False),
    ("AF_XDP", 44, 3, 0, False),
):
    add(SOCKETS, name, partial(_socket, family, variety, protocol), outside=harmless)


def _connect(family: int, address: Any) -> None:
    with socket.socket(family) as made:
        made.connect(address)


add(SOCKETS, "connect by TCP", lambda: _connect(2, ("127.0.0.1", TARGETS["port"])), outside=True)
add(SOCKETS, "connect to a Unix socket", lambda: _connect(1, TARGETS["unix"]), outside=True)
add(
    SOCKETS,
    "connect to an abstract one",
    lambda: _connect(1, "\0" + TARGETS["abstract"]),
    outside=True,
)
add(SOCKETS, "datagrams of a pair", lambda: socket.socketpair(type=socket.SOCK_DGRAM), outside=True)
add(
    SOCKETS,
    "TCP fast open",
    lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", TARGETS["port"])),
)
add(
    SOCKETS,
    "bind in a folder of yours",
    lambda: socket.socket(1).bind(f"{TARGETS['folder']}/b"),
    outside=True,
)

# Communication ---------------------------------------------------------------------------------

IPC = "Messages"
calls(
    IPC,
    ("shmget", 0, 4096, 0o1600),
    ("semget", 0, 1, 0o1600),
    ("msgget", 0, 0o1600),
    ("mq_open", b"attempt", 0o102, 0o600, 0),
    ("mq_unlink", b"attempt"),
)

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
add(
    FILES,
    "write at home",
    lambda: os.open(os.path.expanduser("~/.attempt"), os.O_CREAT | os.O_RDWR),
)
add(FILES, "write in /tmp", lambda: os.open("/tmp/.attempt", os.O_CREAT | os.O_RDWR))
add(FILES, "write in /run", lambda: os.open("/run/attempt", os.O_CREAT | os.O_RDWR))
add(FILES, "write in /dev", lambda: os.open("/dev/attempt", os.O_CREAT | os.O_RDWR))
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
