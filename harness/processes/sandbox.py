"""Run a program in Linux namespaces: `python -I -S sandbox.py SCRATCH PROGRAM...`.

The program has only a loopback network and its own processes. It can write only SCRATCH and
/dev/shm, which is empty, private and deleted at the end. /run is empty, /dev has no disks, and Unix
sockets cannot be reached. Standard streams, exit status and the ending signal are as without a
sandbox. If something cannot be set up, the program does not start, with one line on stderr.

There are three processes. The started one stays outside and ends as the program does. The first one
inside only waits: the first process of a namespace loses signals that it sends itself.
"""

import ctypes
import errno
import glob
import os
import platform
import resource
import signal
import struct
import sys
from typing import NoReturn

NOT_STARTED = 125  # the exit status where there is no sandbox

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x20000, 0x8000000, 0x10000000  # linux/sched.h
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8  # linux/mount.h
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
_CAPABILITY_VERSION_3, _CAPABILITIES = 0x20080522, 64
_SECCOMP_MODE_FILTER, _ALLOW = 2, 0x7FFF0000
# What a refused call answers: EPERM, or ENOSYS like an older kernel for calls that came after Linux
# 5.0, for which libraries have another way. No call is answered by a signal.
_REFUSE, _UNKNOWN, _NEWER = 0x50000 | 1, 0x50000 | 38, 424
_LOAD, _IF_EQUAL, _IF_ABOVE, _IF_AT_LEAST = 0x20, 0x15, 0x25, 0x35  # bpf_common.h
_AND, _RETURN = 0x54, 0x06
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_CALLS = "system_calls.txt"  # next to this file: those that are allowed
_RULES = (  # call, number and mask of an argument, values, whether these alone are allowed
    ("clone", 0, 0x7E020000, (0,), True),  # CLONE_NEW*. Flags of clone3 cannot be read here
    ("socket", 0, 0xFFFFFFFF, (1, 2, 10), True),  # AF_UNIX, AF_INET, AF_INET6
    ("socket", 1, 0xF, (1, 5), True),  # streams and packets: a datagram needs no connect
    ("socket", 2, 0xFFFFFFFF, (0, 6), True),  # TCP
    ("socketpair", 1, 0xF, (1, 5), True),
    ("ioctl", 1, 0xFFFFFFFF, (0x5412, 0x541C, 0x5423), False),  # TIOCSTI, TIOCLINUX, TIOCSETD
    ("prctl", 0, 0xFFFFFFFF, (22, 35), False),  # PR_SET_SECCOMP, PR_SET_MM
)
_OWN_PIDS = (6, 14)  # Linux: since then, pid_max belongs to a namespace
_PROCESSES = 2048  # with threads
_FILES = 4096  # open in one process
_FILE_SIZE = 1 << 30  # bytes of a file, and of all in _MEMORY
_SPARE = 32  # the part of the machine's memory that stays available, as a divisor
_LOOK_S = 0.1  # between two looks at it

_DEVICES = ("null", "zero", "full", "random", "urandom", "dri", "kfd", "nvidia*")
_MEMORY = "/dev/shm"
# where a program may put files, and Numba what it compiles, which has no other place for it
_TEMPORARY = ("TMPDIR", "NUMBA_CACHE_DIR")

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    scratch, *command = sys.argv[1:]
    nothing = os.open(os.devnull, os.O_RDWR)  # now, for /dev is about to change
    try:
        _unshare()
        _write("/proc/self/oom_score_adj", "1000")  # when memory ends, this ends first
        reads, writes = os.pipe()
        first = os.fork()
    except OSError as error:
        _refuse(error)
    if first:
        os.close(writes)
        _close_streams(nothing)
        _end_as(_status_of(first, reads))
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _mount(scratch)
        _drop_rights()
        program = os.fork()
    except OSError as error:
        _refuse(error)
    if program == 0:
        _become(command)
    _close_streams(nothing)
    _report_end(program, writes)


def _unshare() -> None:
    """Enter namespaces with the same user id and without rights outside."""
    user, group = os.geteuid(), os.getegid()
    parts = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWPID | _CLONE_NEWIPC
    _check(_libc.unshare(parts), "unshare")
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        _write(f"/proc/self/{name}", content)


def _write(path: str, content: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def _mount(scratch: str) -> None:
    """Mount all files read-only, private folders over them, and the scratch file writable."""
    folder = os.getcwd()
    _call_mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    nodes = [node for name in _DEVICES for node in glob.glob(f"/dev/{name}")]
    files = {path: os.open(path, os.O_PATH) for path in (*nodes, scratch)}
    _call_mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    release = platform.release().split(".")[:2]
    if tuple(int("".join(filter(str.isdigit, part))) for part in release) >= _OWN_PIDS:
        _write("/proc/sys/kernel/pid_max", str(_PROCESSES))  # root has no RLIMIT_NPROC
    for path in filter(os.path.exists, ("/proc/keys", "/proc/key-users")):
        _call_mount("/dev/null", path, "", _MS_BIND)
    for mount in ("/run", "/dev", _MEMORY):
        if mount == _MEMORY:
            os.mkdir(mount)
        if os.path.isdir(mount) and not os.path.islink(mount):
            _call_mount("tmpfs", mount, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={_FILE_SIZE}")
    for path, file in files.items():
        _bind(file, path)
    os.symlink("/proc/self/fd", "/dev/fd")
    _set_attributes("/", _AT_RECURSIVE, on=_MOUNT_ATTR_RDONLY)  # /proc, too: root may write there
    for path in (_MEMORY, scratch):
        _set_attributes(path, 0, off=_MOUNT_ATTR_RDONLY)
    os.chdir(folder)


def _bind(file: int, path: str) -> None:
    """Mount an open file at a path."""
    if os.path.isdir(f"/proc/self/fd/{file}"):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    _call_mount(f"/proc/self/fd/{file}", path, "", _MS_BIND | _MS_REC)
    os.close(file)


def _call_mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags))
    _check(_libc.mount(*words, options.encode()), f"mount {target}")


def _set_attributes(path: str, how: int, on: int = 0, off: int = 0) -> None:
    attributes = struct.pack("QQQQ", on, off, 0, 0)  # struct mount_attr
    words = (os.fsencode(path), how, attributes, ctypes.c_size_t(len(attributes)))
    _check(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, *words), f"mount_setattr {path}")


def _drop_rights() -> None:
    """Drop all capabilities for good, and allow the calls of _CALLS alone."""
    for capability in range(_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that the kernel has not: EINVAL
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter of system calls for {machine}", "seccomp")
    instructions = _filter(machine)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(buffer))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def _filter(machine: str) -> list[tuple[int, int, int, int]]:
    """Return a BPF program: code, steps to take if true and if false, value. It reads `struct
    seccomp_data`: the number of the call at byte 0, the architecture at 4, the low half of argument
    N at 16 + 8 N."""
    calls, refuse = _allowed(machine), (_RETURN, 0, 0, _REFUSE)
    program = [
        (_LOAD, 0, 0, 4),
        (_IF_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _UNKNOWN),  # another architecture numbers its calls in another way
    ]
    for name, argument, mask, values, only in _RULES:
        last = len(values) - 1
        program += [
            (_LOAD, 0, 0, 0),
            (_IF_EQUAL, 0, last + 4, calls[name]),
            (_LOAD, 0, 0, 16 + 8 * argument),
            (_AND, 0, 0, mask),
        ]
        for i, value in enumerate(values):
            program.append((_IF_EQUAL, last - i + only, int(i == last and not only), value))
        program.append(refuse)
    program.append((_LOAD, 0, 0, 0))
    for first, end in _runs(sorted(calls.values())):
        program += [(_IF_AT_LEAST, 0, 2, first), (_IF_ABOVE, 1, 0, end), (_RETURN, 0, 0, _ALLOW)]
    return [*program, (_IF_AT_LEAST, 1, 0, _NEWER), refuse, (_RETURN, 0, 0, _UNKNOWN)]


def _allowed(machine: str) -> dict[str, int]:
    """Return the numbers of the allowed calls on a machine, by name."""
    column = 1 + list(_ARCHITECTURES).index(machine)
    with open(os.path.join(os.path.dirname(__file__), _CALLS), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of consecutive numbers."""
    firsts = [number for number in numbers if number - 1 not in numbers]
    return list(zip(firsts, (n for n in numbers if n + 1 not in numbers), strict=True))


def _become(command: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
        signal.signal(number, signal.SIG_DFL)
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _FILE_SIZE),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_NPROC, _PROCESSES),
    ):
        soft, hard = (min(most, now) if now >= 0 else most for now in resource.getrlimit(limit))
        resource.setrlimit(limit, (soft, hard))
    try:
        os.execvpe(command[0], command, os.environ | dict.fromkeys(_TEMPORARY, _MEMORY))
    except OSError as error:
        print(f"cannot start {command[0]}: {error}", file=sys.stderr, flush=True)
    os._exit(127)


def _report_end(program: int, writes: int) -> NoReturn:
    """Wait for the program, and report its exit status: SIGKILL if memory becomes scarce. No limit
    of a process serves: V8 and sanitizers reserve more than any machine has, and use little."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    pid = 0
    while pid != program:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0 and signal.sigtimedwait({signal.SIGCHLD}, _LOOK_S) is None and _is_scarce():
            pid, status = program, signal.SIGKILL
    os.write(writes, struct.pack("i", status))
    os._exit(0)  # and the kernel ends what is left inside


def _is_scarce() -> bool:
    with open("/proc/meminfo", encoding="utf-8") as file:
        sizes = {name: int(size) for name, size, *_ in map(str.split, file)}
    return sizes.get("MemAvailable:", sizes["MemTotal:"]) < sizes["MemTotal:"] // _SPARE


def _status_of(first: int, reads: int) -> int:
    """Return the program's status; if it never began or its waiter died, the waiter's."""
    _, status = os.waitpid(first, 0)
    reported = os.read(reads, 4)
    return struct.unpack("i", reported)[0] if reported else status


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core would be of this process
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _close_streams(nothing: int) -> None:
    """Close them here, so a reader of the program's output sees when the program closes it."""
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _refuse(error: OSError) -> NoReturn:
    print(f"no sandbox: {error.filename}: {error.strerror}", file=sys.stderr, flush=True)
    os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
