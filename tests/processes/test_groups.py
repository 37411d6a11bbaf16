"""Groups of processes: a group ends as a whole, and ends with its starter, however that ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.processes import groups, supervisor
from tests.support.alive import alive, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")

# Starts a child in its group, and one that leaves it; prints both; waits for a line, and ends.
FAMILY = """
import os, subprocess, sys
near = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
far = subprocess.Popen(["setsid", "sleep", "600"], stdout=subprocess.DEVNULL)
print(near.pid, far.pid, flush=True)
sys.stdin.readline()
"""

# Starts such a family, with a scratch file, and prints all process ids and the file.
OWNER = f"""
import os, signal, sys, time
import subprocess
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)  # nohup ignores them
from sampler_parity.harness.processes import groups
from sampler_parity.harness.protocol.scratch import Scratch
group = groups.start([sys.executable, "-c", {FAMILY!r}], dict(os.environ),
    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
scratch = Scratch()
scratch.ensure(1 << 20)
children = group.process.stdout.readline().decode()
print(os.getpid(), group.process.pid, children.strip(), scratch.path, flush=True)
if sys.argv[1] == "exit":
    sys.exit()
time.sleep(600)
"""


@pytest.fixture
def family() -> Iterator[tuple[groups.ProcessGroup, list[int]]]:
    group = groups.start(
        [sys.executable, "-c", FAMILY],
        dict(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert group.process.stdout is not None
    assert group.process.stdin is not None
    yield group, [*map(int, group.process.stdout.readline().split())]
    group.end()
    group.process.stdout.close()
    group.process.stdin.close()


def test_group_ends_with_those_that_left_it(family: tuple[groups.ProcessGroup, list[int]]) -> None:
    group, children = family
    assert alive(*children) == children
    group.end()
    until(lambda: not alive(group.process.pid, *children))


def test_group_ends_whose_leader_ended_by_itself(
    family: tuple[groups.ProcessGroup, list[int]],
) -> None:
    group, children = family
    assert isinstance(group.process, subprocess.Popen)
    group.process.communicate(b"\n", timeout=20)
    assert (group.process.returncode, alive(*children)) == (0, children)
    group.end()
    until(lambda: not alive(*children))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["exit", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_nothing_outlives_who_started_it(way: str) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, way], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    *pids, path = owner.stdout.readline().decode().split()
    if way != "exit":
        owner.send_signal(getattr(signal, way))
    owner.wait(20)
    owner.stdout.close()
    until(lambda: not alive(*map(int, pids)) and not Path(path).exists())


def test_only_files_whose_maker_is_gone_are_swept(tmp_path: Path) -> None:
    make = (
        "import sys, fcntl, time; file = open(sys.argv[1], 'w');"
        "fcntl.flock(file, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.readline()"
    )
    living, other = (tmp_path / f"{name}1-x" for name in (supervisor.PREFIX, "tmp"))
    left, folder = (tmp_path / f"{supervisor.PREFIX}{i}-x" for i in (2, 3))
    left.touch()
    other.touch()
    (folder / "more").mkdir(parents=True)  # put by a backend where its scratch file was
    with subprocess.Popen(
        [sys.executable, "-c", make, living], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as maker:
        assert maker.stdout is not None
        maker.stdout.readline()
        supervisor.sweep(str(tmp_path))
        assert sorted(tmp_path.iterdir()) == sorted([living, other])
    supervisor.sweep(str(tmp_path))
    assert not living.exists()


def test_keeper_that_was_killed_is_replaced(family: tuple[groups.ProcessGroup, list[int]]) -> None:
    mine = groups._mine()
    os.kill(mine.process.pid, signal.SIGKILL)
    until(lambda: not alive(mine.process.pid))
    groups.notify("gone 1")
    assert groups._mine().process.pid != mine.process.pid
    assert alive(groups._mine().process.pid)


@pytest.mark.slow
def test_scratch_file_of_a_process_that_is_killed_before_it_starts_any_is_deleted() -> None:
    code = (
        "import os\n"
        "from sampler_parity.harness.protocol.scratch import Scratch\n"
        "print(Scratch().path, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path = Path(done.stdout.strip())
    assert path.name.startswith(supervisor.PREFIX)
    until(lambda: not path.exists())
