"""harness/bundle/lock.py: one writer at a time; the lock of a dead writer is released."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.lock import locked
from sampler_parity.harness.errors import InputError
from tests.support.command_line import cli, refused

HOLDER = """
import os, pathlib, subprocess, sys, time
from sampler_parity.harness.bundle.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    if sys.argv[2] == "forked":
        if os.fork() == 0:  # once it runs, what a fork does is done
            print(os.getpid(), flush=True)
    else:
        print(subprocess.Popen(["sleep", "60"], close_fds=False).pid, flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_refused_in_one_line(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "b"),
        pytest.raises(InputError, match="another process writes this bundle - wait until it ends"),
        locked(tmp_path / "b"),
    ):
        pass


def test_a_lock_that_was_let_go_is_free(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "b"):
            pass
    with pytest.raises(ValueError, match="in the midst"), locked(tmp_path / "b"):
        raise ValueError("in the midst")
    with locked(tmp_path / "b"):
        pass


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="cannot write: Not a directory - choose another -o"),
        locked(tmp_path / "file" / "b"),
    ):
        pass


@pytest.mark.parametrize("how", ["forked", "started"])
def test_a_killed_holder_does_not_lock_though_its_child_lives_on(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "b"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), how], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout:
        child = int(holder.stdout.readline())
    try:
        with pytest.raises(InputError, match="another process"), locked(folder):
            pass
        holder.kill()
        holder.wait()
        with locked(folder):
            os.kill(child, 0)
    finally:
        holder.kill()
        holder.wait()
        os.kill(child, signal.SIGKILL)


@pytest.mark.slow
def test_resume_next_to_a_run_in_the_same_folder_is_refused(tmp_path: Path, suite: Path) -> None:
    folder = tmp_path / "b"
    with locked(folder):
        some = ["--case", "small/many/normal-V128-k0-seed1", "-b", "reference"]
        line = refused(cli("run", suite, *some, "-o", folder, "--resume", "-j", "1"))
    assert line.startswith(f"sampler-parity: {folder}: another process writes this bundle")
    assert [path.name for path in folder.iterdir()] == ["lock"]
