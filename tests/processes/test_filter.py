"""The filter of system calls of harness/processes/sandbox.py, call by call and for both processors.

The program of the filter is run here by a small interpreter, and on this machine by the kernel.
"""

import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.processes import sandbox, shell
from tests.support.sandboxed import need_sandbox
from tests.support.system_calls import REFUSED, numbers

MACHINES = ("x86_64", "aarch64")
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x50001, 0x50026
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
Program = list[tuple[int, int, int, int]]


def answer(program: Program, machine: str, number: int, *arguments: int) -> int:
    """Return what a program of classic BPF returns for a call. Other instructions: KeyError."""
    words = {0: number, 4: sandbox._ARCHITECTURES[machine]}
    for i in range(6):
        value = arguments[i] if i < len(arguments) else 0
        words |= {16 + 8 * i: value & 0xFFFFFFFF, 20 + 8 * i: value >> 32 & 0xFFFFFFFF}
    at = loaded = 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            loaded = words[value]
        elif code == 0x54:
            loaded &= value
        else:
            tests = {0x15: loaded == value, 0x25: loaded > value, 0x35: loaded >= value}
            at += if_true if tests[code] else if_false


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def allowed_of(machine: str) -> list[str]:
    """Return the calls of REFUSED that the filter allows."""
    program = sandbox._filter(machine)
    return [
        name
        for name, number in numbers(REFUSED, machine).items()
        if answer(program, machine, number) == ALLOW
    ]


def test_a_call_is_allowed_only_if_the_list_has_it(machine: str) -> None:
    program, calls = sandbox._filter(machine), sandbox._allowed(machine)
    free = set(calls.values()) - {calls[name] for name, *_ in sandbox._RULES}
    for number in (*range(1000), 0x40000000, 0x40000000 | 39, 0xFFFFFFFF):
        expected = ALLOW if number in free else EPERM if number < 424 else ENOSYS
        if number in free or number not in calls.values():
            assert answer(program, machine, number) == expected, number


def test_no_call_of_the_refused_ones_is_allowed(machine: str) -> None:
    assert allowed_of(machine) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", numbers(REFUSED, "x86_64") | numbers(REFUSED, "aarch64"))
def test_a_call_that_is_let_in_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of each: one more call in the list."""
    for machine in MACHINES:
        calls, number = sandbox._allowed(machine), numbers(REFUSED, machine).get(name)
        if number is not None:
            monkeypatch.setattr(sandbox, "_allowed", lambda _, c=calls, n=number: c | {"more": n})
            assert allowed_of(machine) == [name]
            monkeypatch.undo()


NEW = {  # linux/sched.h
    "CLONE_NEWNS": 0x20000, "CLONE_NEWCGROUP": 0x2000000, "CLONE_NEWUTS": 0x4000000,
    "CLONE_NEWIPC": 0x8000000, "CLONE_NEWUSER": 0x10000000, "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}  # fmt: skip
# Call, its arguments, whether it is allowed. Numbers are those of the headers of Linux.
ARGUMENTS = [
    *(("clone", (flag | 17,), False) for flag in NEW.values()),
    ("clone", (17,), True),  # fork
    ("clone", (0x4111,), True),  # vfork
    ("clone", (0x3D0F00,), True),  # a thread of glibc
    ("clone", (0x1200011,), True),  # fork of glibc
    *(("socket", (family, 1, 0), family in (1, 2, 10)) for family in range(46)),
    *(("socket", (1, kind, 0), kind in (1, 5)) for kind in range(11)),
    ("socket", (2, 0x80801, 6), True),  # SOCK_CLOEXEC and SOCK_NONBLOCK
    ("socket", (2, 0x80802, 0), False),
    *(("socket", (2, 1, protocol), protocol in (0, 6)) for protocol in (0, 1, 6, 17, 132, 262)),
    *(("socketpair", (1, kind, 0), kind in (1, 5)) for kind in range(11)),
    ("ioctl", (0, 0x5412), False),
    ("ioctl", (0, 0x541C), False),
    ("ioctl", (0, 0x5423), False),
    ("ioctl", (0, 1 << 32 | 0x5412), False),  # of which the kernel uses the low half
    *(("ioctl", (0, request), True) for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5451)),
    ("prctl", (22, 2), False),
    ("prctl", (35, 1), False),
    *(("prctl", (option,), True) for option in (1, 3, 4, 15, 16, 23, 36, 38, 40, 0x53564D41)),
]


@pytest.mark.parametrize(("name", "arguments", "allowed"), ARGUMENTS)
def test_an_argument_decides(
    name: str, arguments: tuple[int, ...], allowed: bool, machine: str
) -> None:
    number = sandbox._allowed(machine)[name]
    given = answer(sandbox._filter(machine), machine, number, *arguments)
    assert given == (ALLOW if allowed else EPERM)


@pytest.mark.parametrize("left_out", range(len(sandbox._RULES)))
def test_a_rule_that_is_left_out_is_found(
    left_out: int, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [rule for i, rule in enumerate(sandbox._RULES) if i != left_out]
    calls = sandbox._allowed(machine)
    monkeypatch.setattr(sandbox, "_RULES", rules)
    program = sandbox._filter(machine)
    found = {
        name
        for name, arguments, allowed in ARGUMENTS
        if answer(program, machine, calls[name], *arguments) != (ALLOW if allowed else EPERM)
    }
    assert found == {RULED[left_out]}


RULED = [name for name, *_ in sandbox._RULES]


def test_another_processor_has_no_call(machine: str) -> None:
    other = MACHINES[machine == MACHINES[0]]
    for number in (0, 20, 39, 172, 0x40000000):
        assert answer(sandbox._filter(machine), other, number) == ENOSYS


def _headers(machine: str) -> Iterator[tuple[str, int]]:
    """Yield the calls of the headers of Linux."""
    text = HEADERS[machine].read_text()
    for name, number in re.findall(r"^#define __NR(?:3264)?_(\w+) (\d+)$", text, re.MULTILINE):
        yield {"fstatat": "newfstatat"}.get(name, name), int(number)


def test_the_numbers_are_those_of_linux(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]}")
    ours = sandbox._allowed(machine) | numbers(REFUSED, machine)
    theirs = dict(_headers(machine))
    assert len(theirs) > 250
    differ = {name: number for name, number in ours.items() if theirs.get(name, number) != number}
    assert differ == {}
    assert len(set(ours.values())) == len(ours)


CALLS = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in map(int, sys.argv[1].split(",")):
    ctypes.set_errno(0)
    libc.syscall(number, *[ctypes.c_long(-1)] * 6)
    print(ctypes.get_errno())
"""


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this processor")
def test_the_kernel_refuses_each_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter answers with numbers here that the kernel itself never uses."""
    need_sandbox()
    source = Path(sandbox.__file__)
    text = source.read_text()
    assert text.count("0x50000 | 1, 0x50000 | 38") == 1
    marked = tmp_path / "sandbox.py"
    marked.write_text(text.replace("0x50000 | 1, 0x50000 | 38", "0x50000 | 1001, 0x50000 | 1038"))
    (tmp_path / sandbox._CALLS).write_text(source.with_name(sandbox._CALLS).read_text())
    (tmp_path / "scratch").write_bytes(bytes(8))
    monkeypatch.setattr(shell, "_PROGRAM", marked)
    calls = numbers(REFUSED, platform.machine()) | {"none": 600, "x32": 0x40000000 | 39}
    words = [sys.executable, "-I", "-S", "-c", CALLS, ",".join(map(str, calls.values()))]
    command = shell.sandboxed(words, tmp_path / "scratch")
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    answers = dict(zip(calls, map(int, done.stdout.split()), strict=True))
    assert answers == {name: 1001 if n < 424 else 1038 for name, n in calls.items()}, done.stderr
