"""harness/processes/sandbox.py: access from inside, and how a program ends there."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import shell
from tests.support.sandboxed import need_sandbox

PYTHON = [sys.executable, "-I", "-S", "-c"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are of Linux")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.write_bytes(bytes(8))
    return path


def outcome(command: list[str], scratch: Path | None = None) -> subprocess.CompletedProcess[str]:
    """scratch: in a sandbox with it."""
    if scratch is not None:
        need_sandbox()
        command = shell.sandboxed(command, scratch)
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


WRITE = """
import sys
for path in sys.argv[1:]:
    try:
        open(path, "a").write("x")
        print("written")
    except OSError as error:
        print(error.strerror)
"""


@LINUX
def test_the_scratch_file_alone_can_be_written_and_what_is_put_into_memory_is_private(
    scratch: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("")
    private = f"/dev/shm/{tmp_path.parent.name}-{tmp_path.name}"
    places = [tmp_path / "mine", tmp_path / "new", Path.home() / "new", "/proc/self/oom_score_adj"]
    done = outcome([*PYTHON, WRITE, *map(str, places), str(scratch), private], scratch)
    assert done.stdout.splitlines() == ["Read-only file system"] * 4 + ["written"] * 2
    assert scratch.read_bytes() == bytes(8) + b"x"
    assert (tmp_path / "mine").read_text() == ""
    assert not os.path.exists(private)


LOOK = """
import os, signal, sys
for number in filter(str.isdigit, os.listdir("/proc")):
    try:
        shown = open(f"/proc/{number}/cmdline", errors="replace").read()
    except OSError:  # it ended meanwhile
        continue
    if sys.argv[1] in shown:
        print("sees")
try:
    os.kill(int(sys.argv[2]), 0)
    print("reaches")
except OSError as error:
    print(error.strerror)
"""


@LINUX
def test_no_other_process_is_seen_or_reached(scratch: Path) -> None:
    command = [*PYTHON, "import sys; sys.stdin.read()", "not-to-be-seen"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as other:
        looking = [*PYTHON, LOOK.replace("sys.argv[1]", '"to-be-" + "seen"'), "", str(other.pid)]
        outside, inside = outcome(looking), outcome(looking, scratch)
        assert other.stdin is not None
        other.stdin.close()
    assert outside.stdout == "sees\nreaches\n"
    assert inside.stdout == "No such process\n"


@LINUX
def test_no_right_is_left_and_none_can_be_had_back(scratch: Path) -> None:
    status = "print(*(line for line in open('/proc/self/status') if line[:3] in ('Cap', 'NoN')))"
    lines = outcome([*PYTHON, status], scratch).stdout.split()
    rights = dict(zip(lines[::2], lines[1::2], strict=True))
    assert rights.pop("NoNewPrivs:") == "1"
    assert {int(value, 16) for value in rights.values()} == {0}


LEFT_BEHIND = """
import os, time
if os.fork() == 0:
    os.fork() or time.sleep(0.2)
    os._exit(0)
os.wait(); time.sleep(0.3); print('on')
"""
STARTS = """
import os, subprocess, threading
thread = threading.Thread(target=print, args=("thread",))
thread.start(); thread.join()
print(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])
print(subprocess.run(["/bin/true"]).returncode)
"""


@LINUX
@pytest.mark.parametrize(
    ("act", "printed"),
    [
        pytest.param(LEFT_BEHIND, "on", marks=pytest.mark.slow),
        (STARTS, "thread 0 0"),
        ("print(open('/proc/self/oom_score_adj').read())", "1000"),
    ],
    ids=["a child that is left behind is reaped", "threads and processes", "ended first"],
)
def test_a_program_goes_on_inside(act: str, printed: str, scratch: Path) -> None:
    """Ended first: the kernel ends it before other programs if memory ends."""
    assert outcome([*PYTHON, act], scratch).stdout.split() == printed.split()


COMPILED = """
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([] { std::vector<double> v(1 << 20, 1.0); });
    for (auto & thread : threads) thread.join();
    try { throw std::runtime_error("caught"); } catch (std::exception & e) { puts(e.what()); }
}
"""


@LINUX
@pytest.mark.nightly
@pytest.mark.parametrize("sanitizer", ["", "address", "undefined", "thread"])
def test_a_compiled_program_runs_inside(sanitizer: str, scratch: Path, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    (tmp_path / "a.cpp").write_text(COMPILED)
    flags = [f"-fsanitize={sanitizer}"] if sanitizer else []
    program = str(tmp_path / "a")
    subprocess.run(["g++", *flags, "-pthread", tmp_path / "a.cpp", "-o", program], check=True)
    # The leak check stops the program to look at it, which needs ptrace.
    command = ["env", "ASAN_OPTIONS=detect_leaks=0", program]
    outside, inside = outcome(command), outcome(command, scratch)
    assert (inside.returncode, inside.stdout, inside.stderr) == (0, "caught\n", "")
    assert (outside.returncode, outside.stdout, outside.stderr) == (0, "caught\n", "")


@LINUX
def test_what_a_program_prints_to_a_file_has_an_end(scratch: Path, tmp_path: Path) -> None:
    need_sandbox()
    act = "import os; os.ftruncate(2, 1 << 30); os.lseek(2, 0, 2); os.write(2, b'x')"
    with (tmp_path / "printed").open("w") as printed:
        command = shell.sandboxed([*PYTHON, act], scratch)
        done = subprocess.run(command, stderr=printed)
    assert done.returncode != 0
    assert (tmp_path / "printed").stat().st_size == 1 << 30


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize(
    "act",
    [
        "raise SystemExit(7)",
        "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import sys; print('x'); sys.stderr.write('y')",
    ],
    ids=["status", "abort", "segv", "kill", "words"],
)
def test_a_program_ends_inside_as_it_does_outside(act: str, scratch: Path) -> None:
    outside, inside = outcome([*PYTHON, act]), outcome([*PYTHON, act], scratch)
    ends = [(done.returncode, done.stdout, done.stderr) for done in (inside, outside)]
    assert ends[0] == ends[1]


@LINUX
def test_a_program_that_closes_its_output_and_lives_on_is_seen_to(scratch: Path) -> None:
    need_sandbox()
    act = "import os, time; os.close(1); time.sleep(60)"
    command = shell.sandboxed([*PYTHON, act], scratch)
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""  # which would wait for 60 s otherwise
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)


@LINUX
def test_no_sandbox_inside_another_and_then_nothing_runs(scratch: Path) -> None:
    inner = shell.sandboxed([*PYTHON, "print('ran')"], scratch)
    done = outcome(inner, scratch)
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr == "no sandbox: unshare: Operation not permitted\n"


@LINUX
def test_a_program_that_is_not_there_is_named(scratch: Path) -> None:
    done = outcome(["/no/such/program"], scratch)
    assert done.returncode == 127
    assert done.stderr.startswith("cannot start /no/such/program: ")


def test_another_system_than_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match=r"^--sandbox: needs Linux, this is darwin - run in a "):
        shell.refuse_missing_sandbox()


def test_a_system_without_user_namespaces_is_refused_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sandbox.py"
    program.write_text("raise SystemExit('no sandbox: unshare: Operation not permitted')")
    monkeypatch.setattr(shell, "_PROGRAM", program)
    monkeypatch.setattr(sys, "platform", "linux")
    line = r"allows none: no sandbox: unshare: Operation not permitted - run in a container"
    with pytest.raises(InputError, match=line):
        shell.refuse_missing_sandbox()
