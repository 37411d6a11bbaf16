"""Commands that write into the cache or a history are killed; `make attack` kills 300."""

import subprocess
import sys

import pytest

from tests.support.command_line import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc"),
    pytest.mark.slow,
]
# It forks, and so has a process without threads.
KILL = """
import shutil, sys, tempfile, time
from pathlib import Path
from tests.attack import killed_commands
from sampler_parity.harness.llama_cpp.platforms import make
from sampler_parity.harness.llama_cpp import recorded

def slowly(build, files):  # deletes the earlier build before the new one is there
    target = recorded.builds_folder() / build.name
    shutil.rmtree(target, ignore_errors=True)
    time.sleep(0.2)
    shutil.copytree(files, target)
    (target / "build.json").write_text(build.model_dump_json())

if sys.argv[1] == "fault":
    make.register = slowly
with tempfile.TemporaryDirectory() as folder:
    print(killed_commands.kill_often(int(sys.argv[2]), 1, Path(folder)))
"""


def killed(fault: str, kills: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILL, fault, str(kills)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_commands_can_be_killed() -> None:
    done = killed("", 6)
    assert done.stdout.startswith("6 kills"), done.stderr


def test_a_build_that_is_deleted_first_is_missed() -> None:
    done = killed("fault", 30)
    assert done.returncode == 1
    assert "FileNotFoundError" in done.stderr or "a build is lost" in done.stderr
