"""harness/bundle/artifacts.py: names of files, and files that cannot be written."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.bundle.artifacts import (
    generation_file,
    row_file,
    stage_file,
    write_arrays,
)
from sampler_parity.harness.errors import InputError


def test_files_of_a_case_differ_and_stay_in_the_folder() -> None:
    names = [file("../a b/c", "x@y:z") for file in (stage_file, row_file, generation_file)]
    assert names == [".._a_b_c.x_y_z.npz", ".._a_b_c.x_y_z.npy", ".._a_b_c.x_y_z.generation.npz"]


def test_full_disk_leaves_no_part_of_a_file_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, content: bytes) -> int:
        if len(content) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content[: len(content) // 2])

    write = os.write
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InputError) as error:
        write_arrays(tmp_path / "a.npz", row=np.zeros(2))
    assert str(error.value) == (
        f"{tmp_path / 'a.npz'}: cannot write: No space left on device"
        " - free space, then run with --resume"
    )
    assert list(tmp_path.iterdir()) == []
