"""What a sandboxed program tries, and the outcomes that SECURITY.md states for each attempt.

`python -m tests.attack.test_attempts` writes the table of the page again.
"""

import json
import os
import platform
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.processes import sandbox, shell
from tests.support.sandboxed import need_sandbox

if sys.platform != "linux":
    pytest.skip("namespaces are of Linux", allow_module_level=True)
if platform.machine() not in sandbox._ARCHITECTURES:
    pytest.skip(f"no filter of calls for {platform.machine()}", allow_module_level=True)

from tests.attack import attempts
from tests.attack.attempts import ATTEMPTS

PAGE = Path(__file__).resolve().parents[2] / "SECURITY.md"
BEGIN, END = "| attempts | outcome |\n| --- | --- |\n", "\n"
Outcomes = dict[str, str]


@contextmanager
def targets(folder: Path) -> Iterator[tuple[dict[str, Any], tuple[int, ...]]]:
    """Yield what lies outside, and the descriptors that a program inherits."""
    (folder / "file").write_text("mine")
    (folder / "kept").write_text("mine")
    (folder / "scratch").write_bytes(bytes(8))
    with ExitStack() as stack:
        other = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        )
        stack.callback(other.kill)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix, abstract = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        unix.bind(f"{folder}/u")
        abstract.bind(f"\0{folder}")
        for listening in (unix, abstract):
            listening.listen()
        both = pty.openpty()
        for file in both:
            stack.callback(os.close, file)
        yield (
            {
                "pid": other.pid,
                "port": tcp.getsockname()[1],
                "unix": f"{folder}/u",
                "abstract": str(folder),
                "file": f"{folder}/file",
                "folder": str(folder),
                "scratch": f"{folder}/scratch",
                "terminal": both[1],
            },
            both[1:],
        )
        assert other.poll() is None


def outcomes(names: list[str], sandboxed: bool = True) -> Outcomes:
    with tempfile.TemporaryDirectory() as name, targets(Path(name)) as (there, files):
        command = [sys.executable, "-I", "-S", attempts.__file__, json.dumps(there), *names]
        if sandboxed:
            command = shell.sandboxed(command, Path(there["scratch"]))
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, pass_fds=files)
        assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def named(heavy: bool) -> list[str]:
    return [name for name, attempt in ATTEMPTS.items() if attempt.heavy == heavy]


def rows(tried: Outcomes) -> list[str]:
    """Return the lines of the table: attempts of one group and outcome together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, ended in tried.items():
        groups.setdefault((ATTEMPTS[name].group, ended), []).append(name)
    return [
        f"| {group}: {', '.join(f'`{name}`' for name in names)} | {ended} |"
        for (group, ended), names in groups.items()
    ]


def stated() -> Outcomes:
    table = PAGE.read_text().split(BEGIN)[1].split(f"{END}{END}")[0]
    found: Outcomes = {}
    for line in table.splitlines():
        cells, ended = re.fullmatch(r"\| [^`]+: (.*) \| ([^|]+) \|", line).groups()  # type: ignore[union-attr]
        found |= dict.fromkeys(re.findall("`([^`]+)`", cells), ended)
    return found


def _compare(tried: Outcomes) -> None:
    """Raise AssertionError if the page states something else. For a file of root, the kernel asks
    for the user's rights first, and root has them."""
    page = stated()
    if os.geteuid():
        tried = {
            name: page[name] if (ended, page[name]) == ("EACCES", "EROFS") else ended
            for name, ended in tried.items()
        }
    assert tried == {name: page[name] for name in tried}


def test_the_page_has_every_attempt_once() -> None:
    table = PAGE.read_text().split(BEGIN)[1].split(f"{END}{END}")[0]
    names = re.findall("`([^`]+)`", table)
    assert len(names) > 200
    assert sorted(names) == sorted(stated())
    if platform.machine() == "x86_64":  # other processors lack some of them
        assert sorted(names) == sorted(ATTEMPTS)


@pytest.mark.slow
def test_the_outcomes_are_those_of_the_page() -> None:
    need_sandbox()
    _compare(outcomes(named(heavy=False)))


@pytest.mark.nightly
def test_the_outcomes_of_the_heavy_ones_are_those_of_the_page() -> None:
    need_sandbox()
    if os.geteuid() == 0 and not _own_pids():
        pytest.skip(f"nothing limits the processes of root in Linux {platform.release()}")
    _compare(outcomes(named(heavy=True)))


def _own_pids() -> bool:
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= sandbox._OWN_PIDS


@pytest.mark.slow
def test_outside_a_sandbox_they_succeed() -> None:
    """Those that any user can do, in a folder and to a process of the test."""
    need_sandbox()
    harmless = [name for name, attempt in ATTEMPTS.items() if attempt.outside]
    tried = outcomes(harmless, sandboxed=False)
    assert tried.pop("request_key") == "ENOKEY"  # it asks for a key that no one has
    assert tried == dict.fromkeys(tried, "done")
    assert len(tried) > 40


def planted(old: str, new: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sandbox be one with this edit."""
    assert SOURCE.count(old) == 1, old
    (folder / "sandbox.py").write_text(SOURCE.replace(old, new))
    calls = Path(sandbox.__file__).with_name(sandbox._CALLS).read_text()
    (folder / sandbox._CALLS).write_text(calls)
    monkeypatch.setattr(shell, "_PROGRAM", folder / "sandbox.py")


def differing(tried: Outcomes) -> set[str]:
    page = stated()
    return {name for name, ended in tried.items() if ended != page[name]}


# What the filter alone prevents, on any system that runs these tests.
FILTERED = {
    *("unshare user", "clone user", "clone3", "ptrace by the parent", "kcmp", "pidfd_open"),
    *("add_key", "keyctl of the session", "keyctl of the user", "keyctl with a new session"),
    *("inotify_init1", "personality", "TIOCSETD", "sync", "splice", "tee", "setfsuid", "adjtimex"),
    *("Unix datagram", "UDP", "AF_NETLINK", "connect to a Unix socket", "datagrams of a pair"),
    *("seccomp", "PR_SET_SECCOMP", "name_to_handle_at", "setuid", "setgid", "get_robust_list"),
}


@pytest.mark.slow
def test_without_the_filter_many_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_sandbox()
    none = "instructions = [(_RETURN, 0, 0, _ALLOW)]"
    planted("instructions = _filter(machine)", none, tmp_path, monkeypatch)
    differ = differing(outcomes(named(heavy=False)))
    assert len(differ) > 60
    assert differ >= FILTERED


SOURCE = Path(sandbox.__file__).read_text()
FAULTS = tomllib.loads(Path(__file__).with_name("sandbox_faults.toml").read_text(encoding="utf-8"))


@pytest.mark.nightly
@pytest.mark.parametrize("name", FAULTS)
def test_a_measure_that_is_left_out_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    if os.geteuid() and name == "capabilities":
        pytest.skip("execve takes them from a user other than root")
    row = FAULTS[name]
    planted(row["old"], row["new"], tmp_path, monkeypatch)
    assert differing(outcomes(row["ends"])) == {*row["ends"]}


TAKES = """
import sys, time
taken = []
for _ in range(40):
    taken.append(b"x" * (100 << 20))
    time.sleep(0.02)
print("all of it")
"""


@pytest.mark.nightly
@pytest.mark.parametrize("spare", [True, False])
def test_a_program_that_takes_the_memory_is_ended(
    spare: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a part of the memory is called scarce that leaves the program half a gigabyte."""
    need_sandbox()
    sizes = dict(line.split()[:2] for line in Path("/proc/meminfo").read_text().splitlines())
    available = int(sizes["MemAvailable:"])
    if available < 5 << 20:
        pytest.skip("it takes 4 GiB")
    (tmp_path / "scratch").write_bytes(bytes(8))
    if spare:
        least = int(sizes["MemTotal:"]) / (available - (1 << 19))
        planted("_SPARE = 32", f"_SPARE = {least}", tmp_path, monkeypatch)
    command = [sys.executable, "-I", "-S", "-c", TAKES]
    command = shell.sandboxed(command, tmp_path / "scratch")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    expected = (-signal.SIGKILL, "") if spare else (0, "all of it\n")
    assert (done.returncode, done.stdout) == expected, done.stderr


def _write_page() -> None:
    tried = outcomes(list(ATTEMPTS))
    text = PAGE.read_text()
    before, behind = text.split(BEGIN)
    _, _, rest = behind.partition(f"{END}{END}")
    table = "\n".join(rows({name: tried[name] for name in ATTEMPTS}))
    PAGE.write_text(f"{before}{BEGIN}{table}{END}{END}{rest}")


if __name__ == "__main__":
    _write_page()
