"""The scratch file: changes by the other side never affect the reader."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes import supervisor
from sampler_parity.harness.protocol.scratch import Scratch


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    made = Scratch()
    yield made
    made.remove()


def test_a_new_file_that_a_supervisor_sweeps_away_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before it is locked, it looks like a file whose maker is gone."""
    names: list[str] = []
    mkstemp = tempfile.mkstemp

    def swept(**options: Any) -> tuple[int, str]:
        handle, name = mkstemp(**options)
        names.append(name)
        if len(names) == 1:
            supervisor._delete_if_free(name)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", swept)
    scratch = Scratch()
    assert (str(scratch.path), scratch.harm()) == (names[1], "")
    scratch.remove()
    assert [name for name in names if Path(name).exists()] == []


def test_what_was_read_stays_when_the_file_is_cut_or_written(scratch: Scratch) -> None:
    scratch.write(8, np.arange(1 << 18, dtype=np.int32))
    values = scratch.read(8, 1 << 18, np.int32)
    scratch.write(8, np.zeros(4, np.int32))
    os.truncate(scratch.path, 0)
    assert values.tolist() == list(range(1 << 18))


def test_it_is_read_where_the_system_has_no_preadv(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "preadv")
    scratch.write(8, np.arange(1 << 18, dtype=np.int32))
    assert scratch.read(8, 1 << 18, np.int32).tolist() == list(range(1 << 18))
    os.truncate(scratch.path, 42)
    assert scratch.read(0, 100, np.float32).size == 10


def test_of_a_file_that_was_cut_less_is_read(scratch: Scratch) -> None:
    scratch.write(0, np.ones(100, np.float32))
    os.truncate(scratch.path, 42)
    assert scratch.read(0, 100, np.float32).tolist() == [1.0] * 10


def test_harness_and_worker_see_what_the_other_writes(scratch: Scratch) -> None:
    worker = Scratch(scratch.path)
    end = scratch.write(0, np.array([1.5, -0.0, np.inf], np.float32))
    row = worker.view(0, 3, np.float32)
    row[0] = 7
    assert (end, scratch.read(0, 3, np.float32).tolist()) == (12, [7.0, -0.0, np.inf])
    scratch.ensure(1 << 27)
    worker.view((1 << 27) - 4, 1, np.int32)[:] = 5
    assert scratch.read((1 << 27) - 4, 1, np.int32).tolist() == [5]
    worker._file.close()


@pytest.mark.slow
def test_harm_is_named(scratch: Scratch) -> None:
    scratch.write(0, np.zeros(1 << 25, np.float32))
    assert scratch.harm() == ""
    os.truncate(scratch.path, 1 << 50)
    assert scratch.harm().startswith("the scratch file was grown to 1125899906842624 bytes, it had")
    os.truncate(scratch.path, 12)
    assert scratch.harm() == "the scratch file was cut to 12 bytes, it had 134217728"
    os.truncate(scratch.path, 1 << 27)
    assert scratch.harm() == ""
    copy = scratch.path.with_name(f"copy-of-{scratch.path.name}")  # by its own name it is swept
    shutil.copyfile(scratch.path, copy)
    os.replace(copy, scratch.path)
    assert scratch.harm() == "another file was put in the place of the scratch file"
    scratch.path.unlink()
    assert scratch.harm() == "the scratch file was deleted"


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a temporary folder of one megabyte, and fill /dev/shm."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=False
    )
    if done.returncode:
        pytest.skip("this system does not let a tmpfs be mounted")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    no_room = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: no_room)
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_full_temporary_folder_is_one_line_before_anything_is_asked(small_disk: Path) -> None:
    scratch = Scratch()
    scratch.ensure(1 << 19)
    with pytest.raises(InputError) as caught:
        scratch.ensure(1 << 21)
    scratch.remove()
    assert str(caught.value) == (
        f"scratch file in {small_disk}: no space for 2 MiB of arrays: No space left on device"
        " - free some space, or set TMPDIR to a folder with more"
    )
